import { reasonOf } from '@pctodl/platform'
import type { StartCommand } from '../protocol/messages.js'

/** Thrown if a batch does not fit in memory. */
export class OutOfMemory extends Error {
  /** The batch size that did not fit. */
  batchSize?: number
  largestBatchSize?: number | null
}

/**
 * Rejects a batch that cannot fit in memory. A host that overcommits memory would not fail the allocation, but later
 * kill some process.
 *
 * @throws OutOfMemory
 */
export function assertFits({ sampleBytes, memoryLimitBytes }: StartCommand, batchSize: number): void {
  if (sampleBytes === null || memoryLimitBytes === null) return
  const neededBytes = sampleBytes * batchSize
  if (neededBytes <= memoryLimitBytes) return
  throw new OutOfMemory(`needs about ${mebibytes(neededBytes)} MiB, ${mebibytes(memoryLimitBytes)} MiB are allowed`)
}

/** Whether a runtime's error means that memory ran out. */
export function meansOutOfMemory(error: unknown): boolean {
  if (error instanceof OutOfMemory) return true
  const message = reasonOf(error)
  return /out of memory|cudaErrorMemoryAllocation|failed to allocate|bad_alloc|allocation failed|invalid typed array length/i.test(
    message,
  )
}

/**
 * Returns the largest batch size that runs of b/2, b/4, ..., where b is the size that failed; null if not even one
 * sample runs.
 */
export async function largestThatRuns(
  batchSize: number,
  run: (batchSize: number) => Promise<void> | void,
): Promise<number | null> {
  for (let smaller = Math.floor(batchSize / 2); smaller >= 1; smaller = Math.floor(smaller / 2)) {
    try {
      await run(smaller)
      return smaller
    } catch (error) {
      if (!meansOutOfMemory(error)) throw error
    }
  }
  return null
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(0)
}
