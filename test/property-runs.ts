import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { longTests } from './long-tests.js'

// How random the properties are. Of a change one wants to know whether it did harm: every run draws the same cases, except long
// runs, which draw fresh ones and print the seed of what fails. Making a failing case small may take for ever, and on a busy
// machine so may a hundred cases: either ends before the time of a test does.

const { testPath } = expect.getState()
if (testPath !== undefined && readFileSync(testPath, 'utf8').includes("from 'fast-check'")) {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...(longTests ? {} : { seed: 20 }), interruptAfterTimeLimit: 45_000 })
}
