// The prediction model, the selection rules and the train/test splits of the KACE study (SoCC 2024). Used to check
// parity with its published code, and as baselines.
import {
  type Colocation,
  type Members,
  type Method,
  type Split,
  scalingOf,
  standardize,
  TableError,
  type TargetGain,
  targetGains,
  throughputSum,
  type Workload,
} from '@pctodl/colocation'
import { leastSquares, mean, sampleVariance } from '@pctodl/numerics'
import { z } from 'zod'

/** A workload metric that the published model sums or averages over the members of a colocation. */
type AggregateFeature = Exclude<keyof Workload, 'name' | 'batchSize' | 'training' | 'powerW'>

/**
 * The published features of a colocation. Each metric is summed over the members, except SM and memory utilisation,
 * which are averaged. The SM, DRAM and memory throughputs are also percentages, but the published code sums them.
 */
const aggregateFeatureNames: readonly AggregateFeature[] = [
  'threads',
  'smThroughputPercent',
  'dramThroughputPercent',
  'memoryThroughputPercent',
  'registers',
  'staticSharedMemory',
  'exclusiveThroughput',
  'smUtilPercent',
  'memUtilPercent',
  'memoryGib',
]

const averaged: readonly AggregateFeature[] = ['smUtilPercent', 'memUtilPercent']

/** Returns one metric, summed or averaged over the members of a colocation of any size. */
function aggregateFeature(members: Members, feature: AggregateFeature): number {
  const sum = members.reduce((total, member) => total + member[feature], 0)
  return averaged.includes(feature) ? sum / members.length : sum
}

/** Returns all published features of a colocation, in the published order. */
export function aggregateFeatures(members: Members): Float64Array {
  return Float64Array.from(aggregateFeatureNames, (feature) => aggregateFeature(members, feature))
}

/**
 * The linear model of the KACE study (SoCC 2024): ordinary least squares with an intercept. It predicts the z-scored
 * sum of throughputs from the z-scored features.
 *
 * `predict` scales features by the mean and deviation of the training rows. `scoresAmong` exists for parity only: like
 * the published code, it scales the candidates by their own mean and deviation, so that each score depends on the other
 * candidates.
 */
export class PublishedLinearModel {
  readonly name = 'published linear model'
  readonly #coefficients: Float64Array
  readonly #features: ReturnType<typeof scalingOf>
  readonly #label: ReturnType<typeof scalingOf>

  private constructor(
    coefficients: Float64Array,
    features: ReturnType<typeof scalingOf>,
    label: ReturnType<typeof scalingOf>,
  ) {
    this.#coefficients = coefficients
    this.#features = features
    this.#label = label
  }

  /**
   * Fits the model to measured colocations.
   *
   * @param colocations with any number of members; the published runs used 80 % of their training rows for the fit
   * @throws InvalidInputError for fewer than 11 colocations or linearly dependent features
   */
  static fit(colocations: readonly Colocation[]): PublishedLinearModel {
    const raw = colocations.map(({ members }) => aggregateFeatures(members))
    const sums = colocations.map((colocation) => [throughputSum(colocation)])
    const features = scalingOf(raw)
    const label = scalingOf(sums)
    const design = raw.map((row) => [1, ...standardize(row, features)])
    const target = sums.map((row) => standardize(row, label)[0]!)
    return new PublishedLinearModel(leastSquares(design, target), features, label)
  }

  /** Predicts the members' total throughput, samples/s. */
  predict(members: Members): number {
    const z = this.#scoreOf(standardize(aggregateFeatures(members), this.#features))
    return this.#label.mean[0]! + z * this.#label.deviation[0]!
  }

  /**
   * Returns the published score of each candidate: its predicted throughput in standard deviations from the mean of the
   * candidates.
   */
  scoresAmong(candidates: readonly Members[]): number[] {
    const raw = candidates.map(aggregateFeatures)
    const own = scalingOf(raw)
    return raw.map((row) => this.#scoreOf(standardize(row, own)))
  }

  #scoreOf(standardized: Float64Array): number {
    let score = this.#coefficients[0]!
    for (let j = 0; j < standardized.length; j++) score += this.#coefficients[j + 1]! * standardized[j]!
    return score
  }
}

/** A rule that scores colocations without training. Only colocations of equal size may be compared. */
export interface Rule {
  readonly name: string
  /** Higher is better. */
  score(members: Members): number
}

/**
 * The rules of the KACE study. Each prefers the largest or the smallest value of one feature. `max sm%` prefers the
 * largest, as published, although it is the worst rule of the study. `max SM throughput` is in the published results,
 * but not in the study's comparison of rules.
 */
export const publishedRules: readonly Rule[] = [
  most('max SM throughput', 'smThroughputPercent'),
  most('max exclusive throughput', 'exclusiveThroughput'),
  least('min memcap', 'memoryGib'),
  least('min mem%', 'memUtilPercent'),
  most('max sm%', 'smUtilPercent'),
  least('min threads', 'threads'),
  least('min DRAM throughput', 'dramThroughputPercent'),
  least('min memory throughput', 'memoryThroughputPercent'),
  least('min registers', 'registers'),
  least('min static shared memory', 'staticSharedMemory'),
]

function most(name: string, feature: AggregateFeature): Rule {
  return { name, score: (members) => aggregateFeature(members, feature) }
}

function least(name: string, feature: AggregateFeature): Rule {
  return { name, score: (members) => -aggregateFeature(members, feature) }
}

/** A published split. */
export interface PublishedSplit<C extends Colocation> extends Split<C> {
  /** The part of `train` that the published code fits its model to; absent if its row numbers are not published. */
  readonly publishedFit?: readonly C[]
}

const rowNumbers = z.array(z.int().nonnegative())
const publishedSplits = z.record(
  z.string(),
  z.record(
    z.string(),
    z.object({ train: rowNumbers, test: rowNumbers.optional(), train_inner80: rowNumbers.optional() }),
  ),
)

/**
 * Reads the published train/test splits: lists of row numbers, by level (n_occur or train ratio) and by seed. Each
 * split needs `train`. `test` defaults to all other rows, and `train_inner80` is optional.
 *
 * @returns splits by level, in the file's order
 * @throws TableError naming the problem
 */
export function parseSplits<C extends Colocation & { readonly row: number }>(
  text: string,
  colocations: readonly C[],
  file = 'splits',
): Map<string, PublishedSplit<C>[]> {
  const byRow = new Map(colocations.map((colocation) => [colocation.row, colocation]))
  const pick = (rows: readonly number[]) =>
    rows.map((row) => {
      const colocation = byRow.get(row)
      if (!colocation) throw new TableError(file, undefined, undefined, `row ${row} is not in the table of colocations`)
      return colocation
    })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new TableError(file, undefined, undefined, `not JSON: ${(error as Error).message}`, error)
  }
  const parsed = publishedSplits.safeParse(json)
  if (!parsed.success) throw new TableError(file, undefined, undefined, z.prettifyError(parsed.error), parsed.error)
  return new Map(
    Object.entries(parsed.data).map(([level, bySeed]) => [
      level,
      Object.entries(bySeed).map(([seed, { train, test, train_inner80 }]) => {
        const used = new Set(train)
        return {
          name: `${level}, seed ${seed}`,
          train: pick(train),
          test: test ? pick(test) : colocations.filter(({ row }) => !used.has(row)),
          ...(train_inner80 ? { publishedFit: pick(train_inner80) } : {}),
        }
      }),
    ]),
  )
}

/**
 * The linear model as published. It is fitted to the published part of the training rows, or to all of them if that
 * part is unknown. The features of the candidates are standardized with the candidates' own mean and standard
 * deviation. The model's scores are converted to samples/s with the mean and standard deviation of the test rows' true
 * throughputs. This leaks test data into the prediction, as in the published errors.
 */
export const publishedMethod: Method = {
  name: 'published linear model',
  prepare({ train, publishedFit, test }: PublishedSplit<Colocation>) {
    const model = PublishedLinearModel.fit(publishedFit ?? train)
    const labels = test.map(throughputSum)
    const centre = mean(labels)
    const deviation = Math.sqrt(sampleVariance(labels))
    const scoresOf = (candidates: readonly Colocation[]) => model.scoresAmong(candidates.map(({ members }) => members))
    return { scoresOf, sumsOf: (candidates) => scoresOf(candidates).map((score) => centre + deviation * score) }
  },
}

/**
 * The same model without the leak: fitted to all training rows, with the mean and deviation of the training rows only.
 */
export const honestLinearMethod: Method = {
  name: 'linear model, honest',
  prepare({ train }) {
    const model = PublishedLinearModel.fit(train)
    const sumsOf = (candidates: readonly Colocation[]) => candidates.map(({ members }) => model.predict(members))
    return { sumsOf, scoresOf: sumsOf }
  },
}

/** Each published rule as a method that needs no training. */
export const ruleMethods: readonly Method[] = publishedRules.map((rule) => ({
  name: rule.name,
  prepare: () => ({ scoresOf: (candidates) => candidates.map(({ members }) => rule.score(members)) }),
}))

/**
 * Expected gain of each workload if its partner is chosen at random: the mean total throughput of its colocations,
 * divided by the highest.
 */
export function randomGains(colocations: readonly Colocation[]): TargetGain[] {
  return targetGains(colocations, () => [0]).map(({ target, candidates }) => {
    const sums = colocations.filter(({ members }) => members.some(({ name }) => name === target)).map(throughputSum)
    const best = Math.max(...sums)
    const expected = mean(sums)
    return { target, candidates, gain: expected / best, regretPerS: best - expected }
  })
}
