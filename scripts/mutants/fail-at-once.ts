/**
 * Setup file of each test file. It disables the shrinking of failing properties, which takes many times as long as the
 * failure itself.
 */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'

const { testPath } = expect.getState()
if (testPath !== undefined && readFileSync(testPath, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
}
