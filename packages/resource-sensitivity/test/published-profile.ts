import { z } from 'zod'
import { InputFileError } from '../src/errors.js'
import { parseJsonAs } from '../src/input-files.js'

const numbers = z.record(z.string(), z.number())
const reference = z.tuple([numbers, z.record(z.string(), numbers), z.record(z.string(), numbers)])

/** One cell of the Python code's `profile.json`. */
export interface PublishedProfilePoint {
  readonly cpus: number
  /** Cached part of the data set. */
  readonly memoryPercent: number
  readonly epochS: number
  readonly storageMBps: number
}

/**
 * Read the Python code's `profile.json`, three objects: seconds per iteration by cores; epoch seconds by cores and memory; storage
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

/** One run of the Python code's CPU sweep. */
export interface PublishedSweepPoint {
  /** Not always whole: the Python code halves without rounding. */
  readonly cpus: number
  readonly iterationS: number
}

/**
 * The Python code's sweep, kept for comparison: halve while the last step changed the epoch by less than 10 %, else step down by
 * one core a GPU. The first run is a warm-up, repeated; a slow one makes the next step small.
 *
 * @param run seconds per iteration with so many cores
 * @returns the calls in their order, the warm-up first
 */
export async function publishedSweep(
  run: (cpus: number) => Promise<number>,
  { maxCpus, gpus, batchPerGpu, samples }: { maxCpus: number; gpus: number; batchPerGpu: number; samples: number },
): Promise<PublishedSweepPoint[]> {
  const iterationsPerEpoch = Math.floor(samples / gpus / batchPerGpu)
  const calls: PublishedSweepPoint[] = []
  let cpus = maxCpus
  let before = 0
  while (cpus >= 1) {
    const iterationS = await run(cpus)
    const epochS = iterationS * iterationsPerEpoch
    if (calls.length === 0) before = epochS
    calls.push({ cpus, iterationS })
    const flat = before <= 0 || (Math.abs(before - epochS) / before) * 100 < 10
    before = epochS
    cpus = calls.length === 1 ? maxCpus : flat ? cpus / 2 : cpus - gpus
  }
  return calls
}
