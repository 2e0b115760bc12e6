import { InvalidInputError } from '@pctodl/platform'
import { fitLine } from './fit-line.js'

/** What links between GPUs do for an exchange of gradients. */
export interface Link {
  /** Of each message, s. */
  readonly latencyS: number
  readonly bytesPerS: number
}

/**
 * Time of a ring all-reduce: 2 (n - 1) messages one after the other, which carry 2 (n - 1) / n of the bytes over each link (Patarasuk and
 * Yuan, "Bandwidth optimal all-reduce algorithms", 2009).
 *
 * @param bytes of all gradients
 * @param gpus that take part; one exchanges nothing
 * @param hiddenS time of the backward pass in which it goes on beside the computation, s: only what is longer shows. Default 0
 * @returns s, for `TrainingJob.allReduceS`
 * @throws InvalidInputError naming the field
 */
export function ringAllReduceS({ latencyS, bytesPerS }: Link, bytes: number, gpus: number, hiddenS = 0): number {
  for (const [field, value, isGood, expected] of [
    ['latencyS', latencyS, latencyS >= 0, 'seconds, at least 0'],
    ['bytesPerS', bytesPerS, bytesPerS > 0, 'a positive number'],
    ['bytes', bytes, bytes >= 0, 'at least 0'],
    ['gpus', gpus, Number.isInteger(gpus) && gpus >= 1, 'a positive integer'],
    ['hiddenS', hiddenS, hiddenS >= 0, 'seconds, at least 0'],
  ] as const) {
    if (!(isGood && Number.isFinite(value))) throw new InvalidInputError(field, value, expected)
  }
  const wholeS = 2 * (gpus - 1) * latencyS + ((2 * (gpus - 1)) / gpus) * (bytes / bytesPerS)
  return Math.max(0, wholeS - hiddenS)
}

/**
 * Latency and bandwidth from measured all-reduces (`nccl-tests`, or a loop of `all_reduce`) over the same GPUs: least squares of time over
 * bytes, relative errors counting alike. Where noise would make the latency negative it is 0, and the bandwidth that of the best line through the origin.
 *
 * @param measured of at least two different sizes
 * @throws InvalidInputError for fewer, and for times that do not grow with the size
 */
export function fitLink(measured: readonly { readonly bytes: number; readonly timeS: number }[], gpus: number): Link {
  if (!(Number.isInteger(gpus) && gpus >= 2)) throw new InvalidInputError('gpus', gpus, 'an integer of at least 2')
  if (new Set(measured.map(({ bytes }) => bytes)).size < 2) {
    throw new InvalidInputError('measured', measured.length, 'all-reduces of at least two different sizes')
  }
  const bad = measured.find(({ bytes, timeS }) => !(bytes > 0 && timeS > 0 && Number.isFinite(bytes + timeS)))
  if (bad) throw new InvalidInputError('measured', `${bad.bytes} bytes in ${bad.timeS} s`, 'two positive numbers')
  const { intercept: fixedS, slope: perByte } = fitLine(
    measured.map(({ bytes }) => bytes),
    measured.map(({ timeS }) => timeS),
    measured.map(({ timeS }) => 1 / timeS ** 2),
  )
  if (!(perByte > 0)) {
    const seen = measured.map(({ bytes, timeS }) => `${timeS} s for ${bytes}`).join(', ')
    throw new InvalidInputError('measured', seen, 'times that grow with the size')
  }
  // No latency is below 0; the best line without one is another, and so is its bandwidth.
  if (fixedS < 0) {
    const sum = (of: (bytes: number) => number) =>
      measured.reduce((all, { bytes, timeS }) => all + of(bytes / timeS), 0)
    return { latencyS: 0, bytesPerS: ((2 * (gpus - 1)) / gpus) * (sum((rate) => rate ** 2) / sum((rate) => rate)) }
  }
  return { latencyS: fixedS / (2 * (gpus - 1)), bytesPerS: (2 * (gpus - 1)) / gpus / perByte }
}
