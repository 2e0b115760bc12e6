import { conformalQuantile, type LeftOutGroup, sum } from '@pctodl/numerics'
import { kinOf } from '../workload.js'
import type { CoRunnerProcess, FittedProcess } from './co-runner-process.js'
import { Acquaintance, type Novelty } from './novelty.js'
import { coRunnerExponent, namesOfRow } from './training-rows.js'

/** Errors of held-out predictions for training colocations, in units of the predicted standard deviation. */
export interface Misses {
  readonly novelty: Novelty
  /** Number of members. */
  readonly size: number
  /** Errors for known members. */
  readonly members: number[]
  readonly unseen: number[]
  readonly sums: number[]
}

/** Minimum number of errors for a quantile. */
const MIN_MISSES = 20

/** Minimum share of colocations that must remain for training when a workload is left out. */
const MIN_LEFT = 0.1

/**
 * For each novelty, the novelties whose errors may calibrate its interval, in this order. The first one with enough
 * errors is used.
 */
const kinds: Readonly<Record<Novelty, readonly Novelty[]>> = {
  'known pairs': ['known pairs', 'new pairs'],
  'new pairs': ['new pairs', 'known pairs'],
  'batch size between': ['batch size between', 'new batch size', 'new network'],
  'new batch size': ['new batch size', 'new network'],
  'new network': ['new network'],
}

/**
 * Returns the half-width of a split-conformal interval, in predicted standard deviations: a quantile of the held-out
 * errors of training colocations of the same novelty.
 *
 * @returns null if too few colocations of this novelty, or of its substitutes, were predicted
 */
export function widthOf(
  all: readonly Misses[],
  what: 'members' | 'unseen' | 'sums',
  novelty: Novelty,
  size: number,
  level: number,
): number | null {
  const of = (kind: Novelty) => all.filter((misses) => misses.novelty === kind)
  const ofSize = (kind: Novelty) => of(kind).filter((misses) => misses.size === size)
  // The error of an unseen workload depends mostly on its novelty. Other errors depend mostly on the number of members.
  const candidates =
    what === 'unseen'
      ? kinds[novelty].flatMap((kind) => [ofSize(kind), of(kind)])
      : [...kinds[novelty].map(ofSize), ...kinds[novelty].map(of)]
  for (const some of candidates) {
    const values = Float64Array.from(some.flatMap((misses) => misses[what])).sort()
    if (values.length >= MIN_MISSES) return conformalQuantile(values, level)
  }
  return null
}

/**
 * Returns the standard deviation of the logarithm of a sum, to first order.
 *
 * @param shares share of each term in the sum
 * @param covariance of the logarithms of the terms
 */
export function spreadOf(shares: readonly number[], covariance: readonly (readonly number[])[]): number {
  const variance = sum(shares.map((a, i) => a * sum(shares.map((b, j) => b * covariance[i]![j]!))))
  // Rounding can make the variance slightly negative.
  return Math.sqrt(Math.max(0, variance))
}

/**
 * Collects the errors by novelty. Each colocation, each workload and each network is left out once.
 *
 * @param coarse the same process at a lower rank. It predicts what a left-out workload or network takes part in
 */
export function missesOf(fitted: FittedProcess, process: CoRunnerProcess, coarse: CoRunnerProcess): Misses[] {
  const { workloads, rows } = fitted
  const misses: Misses[] = []
  const keep = (left: LeftOutGroup, novelty: Novelty, unseen: readonly number[]) => {
    const size = rows[left.begin]!.others.length + 1
    const before = misses.find((one) => one.novelty === novelty && one.size === size)
    const kept = before ?? { novelty, size, members: [], unseen: [], sums: [] }
    if (!before) misses.push(kept)
    addMiss(kept, fitted, left, unseen)
  }
  const each = process.leaveEachOut()
  const acquaintance = new Acquaintance(each.map(({ begin }) => namesOfRow(workloads, rows[begin]!)))
  for (const left of each) keep(left, acquaintance.noveltyOf(namesOfRow(workloads, rows[left.begin]!), 2), [])
  const kins = [...new Set(workloads.map(({ name }) => kinOf(name)))].map((kin) =>
    workloads.flatMap(({ name }, index) => (kinOf(name) === kin ? [index] : [])),
  )
  for (const kin of kins) {
    for (const left of kin.length < 2 ? [kin] : [...kin.map((index) => [index]), kin]) {
      const predictions = coarse.leaveOut(left)
      if (predictions.length > (1 - MIN_LEFT) * each.length) continue
      for (const one of predictions) {
        const size = rows[one.begin]!.others.length + 1
        const novelty =
          left.length === kin.length ? 'new network' : acquaintance.unseenNoveltyOf(workloads[left[0]!]!.name, size)
        keep(one, novelty, left)
      }
    }
  }
  return misses
}

function addMiss(
  misses: Misses,
  { rows, workloads }: FittedProcess,
  { begin, end, errors, covariance }: LeftOutGroup,
  left: readonly number[],
): void {
  const coRunners = coRunnerExponent(misses.size)
  const count = end - begin
  const measured = Array.from(errors, (_, i) => {
    const row = rows[begin + i]!
    return row.count * workloads[row.own]!.exclusiveThroughput * Math.exp(coRunners * row.exponent)
  })
  const predicted = measured.map((throughput, i) => throughput * Math.exp(-coRunners * errors[i]!))
  const spread = spreadOf(
    predicted.map((throughput) => throughput / sum(predicted)),
    predicted.map((_, i) => Array.from(covariance.subarray(i * count, (i + 1) * count))),
  )
  errors.forEach((error, i) => {
    const kind = left.includes(rows[begin + i]!.own) ? misses.unseen : misses.members
    kind.push(Math.abs(error) / Math.sqrt(covariance[i * count + i]!))
  })
  misses.sums.push(Math.abs(Math.log(sum(measured) / sum(predicted))) / (coRunners * spread))
}
