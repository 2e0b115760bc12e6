/**
 * Setup file of each test file. It stores the marks that ran: with the result of the case in which they ran, or else
 * with the file's result.
 */
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

// biome-ignore lint/correctness/noEmptyPattern: vitest requires a pattern of fixtures here, and there are none.
afterAll(({}, file) => {
  Object.assign(file.meta, { reached: [...ofFile] } satisfies ReachedMeta)
})
