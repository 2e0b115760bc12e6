import { InvalidInputError } from '@pctodl/platform'
import { type Colocation, type Members, throughputSum } from '../colocation.js'
import { treesAt } from '../math/boosted-trees.js'
import { fitVarianceComponents } from '../math/variance-components.js'
import type { KeptShareSource } from '../select/group-judge.js'
import { kinOf, type Workload } from '../workload.js'
import { around, Calibration, type Misses, spreadOf } from './calibration.js'
import { type AskedWorkload, askedWorkload, companyFeatures } from './company-features.js'
import { CompanyProcess, type FittedProcess, type LeftOut, type ProcessView } from './company-process.js'
import { crossFittedTrees } from './company-trees.js'
import type { FittedSlowdown } from './fitted-slowdown.js'
import { GroupPowerModel } from './group-power.js'
import { Acquaintance, type Novelty } from './novelty.js'
import type { ColocationPrediction } from './prediction.js'
import { COVARIANCE_PARTS, SHARED_PARTS, SlowdownCovariance } from './slowdown-covariance.js'
import { SlowdownTable } from './slowdown-table.js'
import { colocationSpans, companyExponent, LEAST_KEPT, type TrainingRow, trainingRows } from './training-rows.js'
import { WorkloadScaling } from './workload-kernels.js'

/** Rows to which the variances are fitted, evenly from each size; more say little more and cost their cube in each step. */
const VARIANCE_ROWS = 256
const VARIANCE_STEPS = 40

/**
 * How much of its throughput alone each member of a colocation keeps. One model of all numbers of members: Gaussian-process
 * regression of `log(kept share) / log2(members)` on who a member is and who is beside it, averaged with boosted trees by
 * weights that predictions of left-out training colocations choose. It knows no order, uses all rows, draws nothing, takes any
 * number of members and workloads that it has never seen, and is scaled by its training rows alone.
 */
export class SlowdownModel {
  readonly name = 'slowdown model'
  readonly fitted: FittedSlowdown
  /** Null where too few groups have a measured power. */
  readonly power: GroupPowerModel | null
  readonly #process: CompanyProcess
  readonly #calibration: Calibration
  readonly #acquaintance: Acquaintance
  readonly #mostMeasured = new Map<string, number>()

  constructor(fitted: FittedSlowdown, process: CompanyProcess = new CompanyProcess(fitted)) {
    this.fitted = fitted
    this.power = fitted.power && new GroupPowerModel(fitted.power)
    this.#process = process
    this.#calibration = new Calibration(fitted.misses)
    this.#acquaintance = new Acquaintance(groupsOf(fitted))
    for (const { own, others, exponent } of fitted.rows) {
      const { name } = fitted.workloads[own]!
      const kept = Math.exp(companyExponent(others.length + 1) * exponent)
      this.#mostMeasured.set(name, Math.max(kept, this.mostMeasured(name)))
    }
  }

  /**
   * Learn from measured colocations, of one or of several sizes.
   *
   * @throws InvalidInputError with fewer than two colocations, or where nothing varies
   */
  static fit(colocations: readonly Colocation[]): SlowdownModel {
    const training = trainingRows(colocations)
    const { rows } = training
    const mean = rows.reduce((sum, { exponent }) => sum + exponent, 0) / rows.length
    const fitted: FittedProcess = { ...training, mean, variances: fitVariances(training, mean) }
    const process = new CompanyProcess(fitted)
    const { trees, predicted } = crossFittedTrees(fitted)
    const leftOut = process.leaveEachOut()
    const treeWeights = weightsOfTrees(fitted, process, predicted, trees.length)
    const misses = missesOf(fitted, process, leftOut, treeWeights, predicted)
    const power = GroupPowerModel.canFit(colocations) ? GroupPowerModel.fit(colocations).fitted : null
    return new SlowdownModel({ ...fitted, trees, treeWeights, misses, power }, process)
  }

  /**
   * @param members two or more; a workload may be there more than once
   * @param level probability with which each interval holds. Default 0.9
   * @throws InvalidInputError
   */
  predict(members: Members, level = 0.9): ColocationPrediction {
    if (members.length < 2) throw new InvalidInputError('members', members.length, 'at least two workloads')
    if (!(level > 0 && level < 1)) throw new InvalidInputError('level', level, 'a probability between 0 and 1')
    const sorted = [...members].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    const distinct = sorted.filter(({ name }, rank) => rank === 0 || sorted[rank - 1]!.name !== name)
    const view = new PredictingView(this, this.#process, distinct)
    const groups = distinct.map((member) => withoutOne(sorted, member))
    const kept = distinct.map((member, d) => view.keptShare(member, groups[d]!))
    const rankOf = members.map(({ name }) => distinct.findIndex((member) => member.name === name))
    const throughputs = members.map((member, i) => member.exclusiveThroughput * kept[rankOf[i]!]!)
    const novelty = this.#acquaintance.noveltyOf(members.map(({ name }) => name))
    const keptShares = rankOf.map((d) => kept[d]!)
    return {
      members,
      keptShares,
      throughputs,
      throughputSum: throughputSum({ throughputs }),
      novelty,
      ...this.#intervals(members, throughputs, rankOf, () => view.covariance(distinct, groups), novelty, level),
      powerW: this.power?.knows(members) ? this.power.of(members, keptShares) : null,
      weightedSpeedup: keptShares.reduce((total, share) => total + share, 0),
    }
  }

  #intervals(
    asked: Members,
    throughputs: readonly number[],
    rankOf: readonly number[],
    covarianceOf: () => readonly (readonly number[])[],
    novelty: Novelty,
    level: number,
  ): Pick<ColocationPrediction, 'throughputIntervals' | 'throughputSumInterval'> {
    const size = throughputs.length
    const widths = asked.map(({ name }) =>
      this.#calibration.widthOf(this.knows(name) ? 'members' : 'strangers', novelty, size, level),
    )
    const sums = this.#calibration.widthOf('sums', novelty, size, level)
    if (widths.includes(null) || sums === null || !this.#acquaintance.hasSize(size)) {
      return { throughputIntervals: null, throughputSumInterval: null }
    }
    const covariance = covarianceOf()
    const company = companyExponent(size)
    const sum = throughputSum({ throughputs })
    const shareOfSum = covariance.map(
      (_, d) => throughputs.reduce((total, throughput, i) => total + (rankOf[i] === d ? throughput : 0), 0) / sum,
    )
    return {
      throughputIntervals: throughputs.map((throughput, i) =>
        around(throughput, company * widths[i]! * Math.sqrt(covariance[rankOf[i]!]![rankOf[i]!]!)),
      ),
      throughputSumInterval: around(sum, company * sums * spreadOf(shareOfSum, covariance)),
    }
  }

  /** Kept shares of groups of any size of these workloads, without intervals, for `groupPool` and `rankPartners`. */
  keptShareSource(workloads: readonly Workload[]): KeptShareSource {
    const view = new PredictingView(this, this.#process, workloads)
    // Of each group what each of its workloads keeps: a search asks for the same groups again and again.
    const known = new Map<string, ReadonlyMap<number, number>>()
    const keptOf = (sorted: readonly number[]) => {
      const key = sorted.join()
      const before = known.get(key)
      if (before) return before
      const kept = new Map<number, number>()
      for (const own of new Set(sorted)) {
        const others = [...sorted]
        others.splice(others.indexOf(own), 1)
        kept.set(
          own,
          view.keptShare(
            workloads[own]!,
            others.map((other) => workloads[other]!),
          ),
        )
      }
      known.set(key, kept)
      return kept
    }
    return {
      workloads,
      mostKept: (own) => view.mostKept(workloads[own]!),
      keptShares: (members) => {
        if (members.length === 1) return [1]
        const kept = keptOf([...members].sort((a, b) => a - b))
        return members.map((own) => kept.get(own)!)
      },
    }
  }

  /** What each of these workloads keeps beside each other. */
  slowdownTable(workloads: readonly Workload[]): SlowdownTable {
    const view = new PredictingView(this, this.#process, workloads)
    return new SlowdownTable(
      workloads,
      workloads.map((own) => Float64Array.from(workloads, (other) => Math.log(view.keptShare(own, [other])))),
    )
  }

  /** The largest share that a workload was measured to keep; 0 for one that was not. */
  mostMeasured(name: string): number {
    return this.#mostMeasured.get(name) ?? 0
  }

  knows(name: string): boolean {
    return this.#acquaintance.knows(name)
  }
}

/** Predictions for groups of some workloads. */
class PredictingView {
  readonly #model: SlowdownModel
  readonly #process: ProcessView
  readonly #asked: ReadonlyMap<string, AskedWorkload>

  constructor(model: SlowdownModel, process: CompanyProcess, workloads: readonly Workload[]) {
    this.#model = model
    this.#process = process.view(workloads)
    this.#asked = new Map(workloads.map((workload) => [workload.name, askedWorkload(workload)]))
  }

  keptShare(own: Workload, others: Members): number {
    const { treeWeights, trees } = this.#model.fitted
    const treeWeight = treeWeights[others.length + 1] ?? 0
    let exponent = this.#process.mean(this.#row(own, others))
    // The trees know nothing of strangers: predictions of such training colocations were no better with them.
    if (treeWeight > 0 && [own, ...others].every(({ name }) => this.#model.knows(name))) {
      const features = companyFeatures(
        this.#asked.get(own.name)!,
        others.map(({ name }) => this.#asked.get(name)!),
      )
      const said = trees.reduce((sum, some) => sum + treesAt(some, features), 0) / trees.length
      exponent += treeWeight * (said - exponent)
    }
    const kept = Math.exp(companyExponent(others.length + 1) * exponent)
    return Math.min(this.mostKept(own), Math.max(LEAST_KEPT, kept))
  }

  /** No more than what it was measured to keep, or all. */
  mostKept({ name }: Workload): number {
    return Math.max(1, this.#model.mostMeasured(name))
  }

  covariance(members: Members, others: readonly Members[]): number[][] {
    return this.#process.covarianceOf(members.map((member, i) => this.#row(member, others[i]!)))
  }

  #row(own: Workload, others: Members) {
    return this.#process.row(
      this.#process.indexOf(own),
      others.map((other) => this.#process.indexOf(other)),
    )
  }
}

function withoutOne(members: Members, member: Workload): Workload[] {
  const at = members.findIndex(({ name }) => name === member.name)
  return members.filter((_, i) => i !== at)
}

/** Names of the members of each training colocation. */
function groupsOf({ workloads, rows }: Pick<FittedProcess, 'workloads' | 'rows'>): string[][] {
  return colocationSpans(rows).map(([begin]) => namesOf(workloads, rows[begin]!))
}

function namesOf(workloads: readonly Workload[], { own, others }: TrainingRow): string[] {
  return [own, ...others].map((index) => workloads[index]!.name)
}

/** The weights of the covariance's parts and of the noise that make the rows most likely. */
function fitVariances({ workloads, rows }: Pick<FittedProcess, 'workloads' | 'rows'>, mean: number): number[] {
  const some = sampleOfEachSize(rows)
  const n = some.length
  const sizes = new Set(some.map(({ others }) => others.length))
  // Of one size, what holds for all sizes and what holds for this one cannot be told apart.
  const used = sizes.size > 1 ? COVARIANCE_PARTS : SHARED_PARTS
  const scaling = new WorkloadScaling(workloads)
  const covariance = new SlowdownCovariance(workloads.map((workload) => scaling.point(workload)))
  const points = some.map(({ own, others }) => covariance.row(own, others))
  const matrices = Array.from({ length: used + 2 }, () => new Float64Array(n * n))
  const values = new Float64Array(COVARIANCE_PARTS)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      covariance.writeParts(points[i]!, points[j]!, values)
      for (let c = 0; c < used; c++) {
        matrices[c]![i * n + j] = values[c]!
        matrices[c]![j * n + i] = values[c]!
      }
      const together = some[i]!.colocation === some[j]!.colocation ? 1 : 0
      matrices[used]![i * n + j] = together
      matrices[used]![j * n + i] = together
    }
    matrices[used + 1]![i * n + i] = 1 / some[i]!.count
  }
  const observations = Float64Array.from(some, ({ exponent }) => exponent - mean)
  const { variances } = fitVarianceComponents(matrices, observations, VARIANCE_STEPS)
  return [
    ...variances.subarray(0, used),
    ...new Array<number>(COVARIANCE_PARTS - used).fill(0),
    ...variances.subarray(used),
  ]
}

/** Whole colocations, evenly spread over those of each size. */
function sampleOfEachSize(rows: readonly TrainingRow[]): TrainingRow[] {
  if (rows.length <= VARIANCE_ROWS) return [...rows]
  const spans = colocationSpans(rows)
  const sizes = [...new Set(rows.map(({ others }) => others.length))].sort((a, b) => a - b)
  let left = VARIANCE_ROWS
  return sizes.flatMap((size, rank) => {
    const ofSize = spans.filter(([begin]) => rows[begin]!.others.length === size)
    const rowsOfSize = ofSize.reduce((sum, [begin, end]) => sum + end - begin, 0)
    const share = Math.min(1, left / (sizes.length - rank) / rowsOfSize)
    const count = Math.max(1, Math.round(share * ofSize.length))
    const chosen = Array.from({ length: count }, (_, i) => ofSize[Math.floor(((i + 0.5) * ofSize.length) / count)]!)
    const taken = chosen.flatMap(([begin, end]) => rows.slice(begin, end))
    left -= taken.length
    return taken
  })
}

/**
 * For each number of members the weight with which the trees' and the process' predictions come closest to measured sums of
 * colocations that neither has seen: the same part is left out for both.
 */
function weightsOfTrees(
  { rows, workloads }: FittedProcess,
  process: CompanyProcess,
  predicted: Float64Array,
  parts: number,
): Record<number, number> {
  const products: Record<number, number> = {}
  const squares: Record<number, number> = {}
  for (let part = 0; part < parts; part++) {
    for (const { begin, end, errors } of process.errorsLeavingOut((group) => group[0]!.colocation % parts === part)) {
      const size = rows[begin]!.others.length + 1
      const company = companyExponent(size)
      let measured = 0
      let byProcess = 0
      let byTrees = 0
      for (let i = begin; i < end; i++) {
        const { own, count, exponent } = rows[i]!
        const alone = count * workloads[own]!.exclusiveThroughput
        measured += alone * Math.exp(company * exponent)
        byProcess += alone * Math.exp(company * (exponent - errors[i - begin]!))
        byTrees += alone * Math.exp(company * predicted[i]!)
      }
      products[size] = (products[size] ?? 0) + (byTrees - byProcess) * (measured - byProcess)
      squares[size] = (squares[size] ?? 0) + (byTrees - byProcess) ** 2
    }
  }
  return Object.fromEntries(
    Object.entries(squares).map(([size, square]) => [
      size,
      square > 0 ? Math.min(1, Math.max(0, products[Number(size)]! / square)) : 0,
    ]),
  )
}

/** How far left-out colocations were from their predictions, by what was new about them. */
function missesOf(
  fitted: FittedProcess,
  process: CompanyProcess,
  leftOut: readonly LeftOut[],
  treeWeights: Readonly<Record<number, number>>,
  predicted: Float64Array,
): Misses[] {
  const { workloads, rows } = fitted
  const acquaintance = new Acquaintance(groupsOf(fitted))
  const known = leftOut.map((left) => {
    const treeWeight = treeWeights[rows[left.begin]!.others.length + 1]!
    const errors = left.errors.map((error, k) => {
      const { exponent } = rows[left.begin + k]!
      return (1 - treeWeight) * error + treeWeight * (exponent - predicted[left.begin + k]!)
    })
    return missOf(fitted, { ...left, errors }, acquaintance.noveltyOf(namesOf(workloads, rows[left.begin]!), 2))
  })
  const indices = workloads.map((_, index) => index)
  const byKin = new Map<string, number[]>()
  for (const index of indices) {
    const kin = kinOf(workloads[index]!.name)
    byKin.set(kin, [...(byKin.get(kin) ?? []), index])
  }
  const strangers = [
    ...[...byKin.values()].flatMap((kin) =>
      kin.length < 2 ? [] : kin.map((index) => [[index], 'new batch size'] as const),
    ),
    ...[...byKin.values()].map((kin) => [kin, 'new network'] as const),
  ]
  const colocations = leftOut.length
  return gathered([
    ...known,
    ...strangers.flatMap(([left, novelty]) => {
      const isLeft = ({ own, others }: TrainingRow) =>
        left.includes(own) || others.some((other) => left.includes(other))
      const predictions = process.leaveOut((group) => isLeft(group[0]!))
      // Nothing can be said where nearly everything has to be left out.
      return 2 * predictions.length > 1.8 * colocations
        ? []
        : predictions.map((one) => missOf(fitted, one, novelty, left))
    }),
  ])
}

/** All misses of one novelty and size in one record. */
function gathered(all: readonly Misses[]): Misses[] {
  const byKind = new Map<string, Misses[]>()
  for (const miss of all) {
    const kind = `${miss.novelty} ${miss.size}`
    const some = byKind.get(kind)
    if (some) some.push(miss)
    else byKind.set(kind, [miss])
  }
  return [...byKind.values()].map((some) => ({
    novelty: some[0]!.novelty,
    size: some[0]!.size,
    members: some.flatMap(({ members }) => members),
    strangers: some.flatMap(({ strangers }) => strangers),
    sums: some.flatMap(({ sums }) => sums),
  }))
}

function missOf(
  { rows, workloads }: FittedProcess,
  { begin, end, errors, covariance }: LeftOut,
  novelty: Novelty,
  left: readonly number[] = [],
): Misses {
  const size = rows[begin]!.others.length + 1
  const company = companyExponent(size)
  const count = end - begin
  const measured = Array.from(errors, (_, i) => {
    const row = rows[begin + i]!
    return row.count * workloads[row.own]!.exclusiveThroughput * Math.exp(company * row.exponent)
  })
  const predicted = measured.map((throughput, i) => throughput * Math.exp(-company * errors[i]!))
  const sum = predicted.reduce((total, value) => total + value, 0)
  const spread = spreadOf(
    predicted.map((throughput) => throughput / sum),
    predicted.map((_, i) => Array.from(covariance.subarray(i * count, (i + 1) * count))),
  )
  const missesWhere = (isAsked: (own: number) => boolean) =>
    Array.from(errors).flatMap((miss, i) =>
      isAsked(rows[begin + i]!.own) ? [Math.abs(miss) / Math.sqrt(covariance[i * count + i]!)] : [],
    )
  const error = Math.log(measured.reduce((total, value) => total + value, 0) / sum)
  return {
    novelty,
    size,
    members: missesWhere((own) => !left.includes(own)),
    strangers: missesWhere((own) => left.includes(own)),
    sums: [Math.abs(error) / (company * spread)],
  }
}
