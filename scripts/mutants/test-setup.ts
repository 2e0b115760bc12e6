/**
 * Setup file of each test file. It stores the marks that ran with the file's result, and disables the shrinking of
 * failing properties, which takes many times as long as the failure itself.
 */
import { readFileSync } from 'node:fs'
import { afterAll, expect } from 'vitest'

const reached = new Set<number>()
Object.assign(globalThis, { pctodlReached: (index: number) => reached.add(index) })

// biome-ignore lint/correctness/noEmptyPattern: vitest requires a pattern of fixtures here, and there are none.
afterAll(({}, file) => {
  Object.assign(file.meta, { reached: [...reached] })
})

const { testPath } = expect.getState()
if (testPath !== undefined && readFileSync(testPath, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
}
