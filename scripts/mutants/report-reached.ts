/** Set up for each test file: the marks that ran go with its result. */
import { afterAll } from 'vitest'
import type { ReachedMeta } from './test-host-protocol.js'

const reached = new Set<number>()
Object.assign(globalThis, { pctodlReached: (index: number) => reached.add(index) })

// biome-ignore lint/correctness/noEmptyPattern: vitest wants a pattern here, of fixtures, and there are none.
afterAll(({}, file) => {
  Object.assign(file.meta, { reached: [...reached] } satisfies ReachedMeta)
})
