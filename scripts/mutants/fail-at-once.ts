/** Set up for each test file: a property that fails is not made small, which takes many times what its failing took. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

const { testPath } = expect.getState()
if (testPath !== undefined && readFileSync(testPath, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
}
