import { conformalQuantile, type LeftOutGroup } from '@pctodl/numerics'
import { kinOf } from '../workload.js'
import type { CoRunnerProcess, FittedProcess } from './co-runner-process.js'
import { Acquaintance, type Novelty } from './novelty.js'
import type { Interval } from './prediction.js'
import { coRunnerExponent, namesOfRow } from './training-rows.js'

/** How far training colocations of one kind were from predictions that had not seen them, in units of the predicted spread. */
export interface Misses {
  readonly novelty: Novelty
  /** Number of members. */
  readonly size: number
  /** Of members that were known. */
  readonly members: number[]
  /** Of members that were not. */
  readonly unseen: number[]
  readonly sums: number[]
}

/** Fewer misses than this say nothing about a level. */
const MIN_MISSES = 20

/** The part of the colocations that has to be left for a prediction without the others to say anything. */
const MIN_LEFT = 0.1

/** Kinds whose misses stand in, in order, where one has too few of its own: those that know less, or nearly as much. */
const kinds: Readonly<Record<Novelty, readonly Novelty[]>> = {
  'known pairs': ['known pairs', 'new pairs'],
  'new pairs': ['new pairs', 'known pairs'],
  'batch size between': ['batch size between', 'new batch size', 'new network'],
  'new batch size': ['new batch size', 'new network'],
  'new network': ['new network'],
}

/**
 * Split-conformal intervals by what is new about a group: as many predicted spreads wide as their share of the training
 * colocations of that kind needed, each predicted by a process that knew as little of it.
 */
export class Calibration {
  readonly #misses: readonly Misses[]

  constructor(misses: readonly Misses[]) {
    this.#misses = misses
  }

  /**
   * Spreads to each side.
   *
   * @returns null where too few colocations of the kind, or of a kind that knows less, were predicted
   */
  widthOf(what: 'members' | 'unseen' | 'sums', novelty: Novelty, size: number, level: number): number | null {
    const of = (kind: Novelty, members?: number) =>
      this.#misses.filter((misses) => misses.novelty === kind && (members === undefined || misses.size === members))
    // Misses of an unseen workload depend most on what is known of it, the others' on the number of members.
    const candidates =
      what === 'unseen'
        ? kinds[novelty].flatMap((kind) => [of(kind, size), of(kind)])
        : [...kinds[novelty].map((kind) => of(kind, size)), ...kinds[novelty].map((kind) => of(kind))]
    for (const some of candidates) {
      const values = Float64Array.from(some.flatMap((misses) => misses[what])).sort()
      if (values.length >= MIN_MISSES) return conformalQuantile(values, level)
    }
    return null
  }
}

export function around(value: number, logWidth: number): Interval {
  return { low: value * Math.exp(-logWidth), high: value * Math.exp(logWidth) }
}

/** Standard deviation of the logarithm of a sum, to first order, from the shares of its terms and their covariance. */
export function spreadOf(shares: readonly number[], covariance: readonly (readonly number[])[]): number {
  const variance = shares.reduce(
    (total, a, i) => total + a * shares.reduce((sum, b, j) => sum + b * covariance[i]![j]!, 0),
    0,
  )
  // Rounding may leave a little less than nothing of the variance of what was measured.
  return Math.sqrt(Math.max(0, variance))
}

/**
 * How far left-out colocations were from their predictions, by what was new about them: each colocation left out alone, each workload, each
 * network.
 *
 * @param coarse the same process in less detail, for what has to be asked often
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
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
  const spread = spreadOf(
    predicted.map((throughput) => throughput / total(predicted)),
    predicted.map((_, i) => Array.from(covariance.subarray(i * count, (i + 1) * count))),
  )
  errors.forEach((error, i) => {
    const kind = left.includes(rows[begin + i]!.own) ? misses.unseen : misses.members
    kind.push(Math.abs(error) / Math.sqrt(covariance[i * count + i]!))
  })
  misses.sums.push(Math.abs(Math.log(total(measured) / total(predicted))) / (coRunners * spread))
}
