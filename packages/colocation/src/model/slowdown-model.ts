import { mean, sum } from '@pctodl/numerics'
import { type Colocation, type Members, throughputSum } from '../colocation.js'
import { assertInput } from '../input-checks.js'
import type { KeptShareSource } from '../select/group-judge.js'
import type { Workload } from '../workload.js'
import { type Misses, missesOf, spreadOf, widthOf } from './calibration.js'
import { CoRunnerProcess, type FittedProcess, type ProcessView } from './co-runner-process.js'
import { fitVariances } from './fit-variances.js'
import { type FittedGroupPower, GroupPowerModel } from './group-power.js'
import { Acquaintance } from './novelty.js'
import { around, type ColocationPrediction, type Interval, logSpread } from './prediction.js'
import { colocationSpans, coRunnerExponent, MIN_KEPT, namesOfRow, trainingRows } from './training-rows.js'

/** Rank of the process, which is exact for at most this number of rows. */
const MAX_RANK = 448
/** Rank used when whole workloads are left out; estimating those errors needs less detail. */
const COARSE_RANK = 192

/** Result of a fit: plain JSON-compatible values (`new SlowdownModel(JSON.parse(text))`). */
export interface FittedSlowdown extends FittedProcess {
  readonly misses: readonly Misses[]
  /** Null if too few groups have a measured power. */
  readonly power: FittedGroupPower | null
}

/**
 * Predicts the share of its exclusive throughput that each member of a colocation retains. One model covers all numbers
 * of members: Gaussian-process regression of `log(kept share) / log2(members)` on a member and its co-runners. It does
 * not depend on the order of members, and accepts unseen workloads.
 */
export class SlowdownModel {
  readonly power: GroupPowerModel | null
  readonly #process: CoRunnerProcess
  readonly #acquaintance: Acquaintance
  readonly #maxMeasured = new Map<string, number>()

  constructor(
    readonly fitted: FittedSlowdown,
    process: CoRunnerProcess = new CoRunnerProcess(fitted, MAX_RANK),
  ) {
    const { workloads, rows } = fitted
    this.power = fitted.power && new GroupPowerModel(fitted.power)
    this.#process = process
    this.#acquaintance = new Acquaintance(colocationSpans(rows).map(([begin]) => namesOfRow(workloads, rows[begin]!)))
    for (const { own, others, exponent } of rows) {
      const { name } = workloads[own]!
      const kept = Math.exp(coRunnerExponent(others.length + 1) * exponent)
      this.#maxMeasured.set(name, Math.max(kept, this.#maxMeasured.get(name) ?? 0))
    }
  }

  /**
   * Fit to measured colocations of one or several sizes.
   *
   * @throws InvalidInputError with fewer than two colocations, or if nothing varies
   */
  static fit(colocations: readonly Colocation[]): SlowdownModel {
    const training = trainingRows(colocations)
    const { rows } = training
    const centre = mean(rows.map(({ exponent }) => exponent))
    const fitted: FittedProcess = { ...training, mean: centre, variances: fitVariances(training, centre) }
    const process = new CoRunnerProcess(fitted, MAX_RANK)
    const misses = missesOf(fitted, process, new CoRunnerProcess(fitted, COARSE_RANK))
    const power = GroupPowerModel.fit(colocations)?.fitted ?? null
    return new SlowdownModel({ ...fitted, misses, power }, process)
  }

  /**
   * @param members two or more; a workload may occur more than once
   * @param level coverage probability of each interval. Default 0.9
   * @throws InvalidInputError
   */
  predict(members: Members, level = 0.9): ColocationPrediction {
    assertInput(members.length >= 2, 'members', members.length, 'at least two workloads')
    assertInput(level > 0 && level < 1, 'level', level, 'a probability between 0 and 1')
    const size = members.length
    const distinct = [...new Map(members.map((member) => [member.name, member])).values()]
    const view = this.#process.view(distinct)
    const kept = this.#keptShares(view, members)
    const rankOf = members.map(({ name }) => distinct.findIndex((member) => member.name === name))
    const keptShares = members.map(({ name }) => kept.get(name)!)
    const throughputs = members.map((member, i) => member.exclusiveThroughput * keptShares[i]!)
    const novelty = this.#acquaintance.noveltyOf(members.map(({ name }) => name))
    const width = (what: 'members' | 'unseen' | 'sums') => widthOf(this.fitted.misses, what, novelty, size, level)
    const widths = members.map(({ name }) => width(this.#acquaintance.knows(name) ? 'members' : 'unseen'))
    const sumWidth = width('sums')
    const isCalibrated = !widths.includes(null) && sumWidth !== null && this.#acquaintance.hasSize(size)
    const covariance = isCalibrated
      ? view.covarianceOf(distinct.map((member) => view.row(member, withoutOne(members, member))))
      : null
    const coRunners = coRunnerExponent(size)
    /** Interval of a sum over the members, from its terms. */
    const ofSum = (terms: readonly number[]): Interval | null => {
      if (covariance === null) return null
      const whole = sum(terms)
      const parts = distinct.map((_, d) => sum(terms.filter((_term, i) => rankOf[i] === d)) / whole)
      return around(whole, coRunners * sumWidth! * spreadOf(parts, covariance))
    }
    return {
      members,
      keptShares,
      throughputs,
      novelty,
      throughputIntervals:
        covariance &&
        throughputs.map((throughput, i) =>
          around(throughput, coRunners * widths[i]! * Math.sqrt(covariance[rankOf[i]!]![rankOf[i]!]!)),
        ),
      throughputSum: throughputSum({ throughputs }),
      throughputSumInterval: ofSum(throughputs),
      weightedSpeedup: sum(keptShares),
      weightedSpeedupInterval: ofSum(keptShares),
      powerW: this.power?.knows(members) ? this.power.of(members, keptShares) : null,
    }
  }

  /** Kept shares of groups of any size of these workloads, for `groupPool`, `rankPartners` and `groupsForInstance`. */
  keptShareSource(workloads: readonly Workload[]): KeptShareSource {
    const view = this.#process.view(workloads)
    // Cache of kept shares by group, since a search repeats the same groups.
    const known = new Map<string, ReadonlyMap<string, number>>()
    const keptOf = (members: readonly number[]) => {
      const key = [...members].sort((a, b) => a - b).join()
      const group = () => members.map((place) => workloads[place]!)
      const kept = known.get(key) ?? this.#keptShares(view, group())
      known.set(key, kept)
      return kept
    }
    return {
      workloads,
      spreadOf: (members, objective) => {
        const prediction = this.predict(members.map((place) => workloads[place]!))
        const interval =
          objective === 'throughput' ? prediction.throughputSumInterval : prediction.weightedSpeedupInterval
        return interval && logSpread(interval)
      },
      keptShares: (members) => {
        if (members.length === 1) return [1]
        const kept = keptOf(members)
        return members.map((own) => kept.get(workloads[own]!.name)!)
      },
    }
  }

  /** Kept shares of a group by name. */
  #keptShares(view: ProcessView, members: Members): ReadonlyMap<string, number> {
    // Sums over co-runners depend on their order by rounding, so the order is fixed.
    const sorted = [...members].sort((a, b) => (a.name < b.name ? -1 : 1))
    return new Map(
      sorted.map((own) => {
        const kept = Math.exp(coRunnerExponent(members.length) * view.mean(view.row(own, withoutOne(sorted, own))))
        return [own.name, Math.min(this.#maxKept(own), Math.max(MIN_KEPT, kept))]
      }),
    )
  }

  /** Upper limit on the prediction: the largest share measured for the workload, at least 1. */
  #maxKept({ name }: Workload): number {
    return Math.max(1, this.#maxMeasured.get(name) ?? 0)
  }
}

function withoutOne(members: Members, member: Workload): Workload[] {
  const at = members.findIndex(({ name }) => name === member.name)
  return members.filter((_, i) => i !== at)
}
