import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { longTests } from './long-tests.js'

// How random the properties are. Of a change one wants to know whether it did harm: every run draws the same cases, except where
// `PCTODL_SEED` names others, and long runs, which draw fresh ones; what fails prints its seed. A property that its time limit
// stops has not passed: the limit lies below the time of a test, and a failing case is made small until then.

const { testPath } = expect.getState()
if (testPath !== undefined && readFileSync(testPath, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check')
  const named = process.env['PCTODL_SEED']
  const seed = named === undefined ? (longTests ? {} : { seed: 20 }) : { seed: Number(named) }
  fc.configureGlobal({ ...seed, interruptAfterTimeLimit: 240_000, markInterruptAsFailure: true })
}
