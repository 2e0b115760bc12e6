/** Set up for each test file: the marks that ran go with the result of the case in which they ran, else with the file's. */
import { afterAll, afterEach, beforeEach } from 'vitest'
import type { ReachedMeta } from './test-host-protocol.js'

const ofFile = new Set<number>()
let current = ofFile
Object.assign(globalThis, { pctodlReached: (index: number) => current.add(index) })

beforeEach(() => {
  current = new Set()
})

afterEach(({ task }) => {
  Object.assign(task.meta, { reached: [...current] } satisfies ReachedMeta)
  current = ofFile
})

// biome-ignore lint/correctness/noEmptyPattern: vitest wants a pattern here, of fixtures, and there are none.
afterAll(({}, file) => {
  Object.assign(file.meta, { reached: [...ofFile] } satisfies ReachedMeta)
})
