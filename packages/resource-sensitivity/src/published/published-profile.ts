import { z } from 'zod'
import { InputFileError } from '../errors.js'
import { parseJsonAs } from '../json-input.js'

const numbers = z.record(z.string(), z.number())
const reference = z.tuple([numbers, z.record(z.string(), numbers), z.record(z.string(), numbers)])

/** One cell of upstream's `profile.json`. */
export interface PublishedProfilePoint {
  readonly cpus: number
  /** Cached part of the data set. */
  readonly memoryPercent: number
  readonly epochS: number
  readonly storageMBps: number
}

/**
 * Read upstream's `profile.json`, three objects: seconds per iteration by cores; epoch seconds by cores and memory; storage
 * MB/s needed by the same.
 *
 * @throws InputFileError naming file and field
 */
export function parsePublishedProfile(text: string, file = 'profile.json'): PublishedProfilePoint[] {
  const [, epochs, storage] = parseJsonAs(reference, text, file)
  const points = Object.entries(epochs).flatMap(([cpus, row]) =>
    Object.entries(row).map(([percent, epochS]) => {
      const storageMBps = storage[cpus]?.[percent]
      if (storageMBps === undefined) {
        throw new InputFileError(file, null, `[2].${cpus}.${percent}`, undefined, 'a storage rate for every epoch time')
      }
      const point = { cpus: Number(cpus), memoryPercent: Number(percent), epochS, storageMBps }
      if (!(point.cpus > 0 && point.memoryPercent >= 0 && epochS > 0)) {
        throw new InputFileError(file, null, `[1].${cpus}.${percent}`, epochS, 'positive numbers, and numbers as keys')
      }
      return point
    }),
  )
  return points.sort((a, b) => a.cpus - b.cpus || a.memoryPercent - b.memoryPercent)
}
