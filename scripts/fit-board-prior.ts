/**
 * Fits how boards of one type differ from the simulated board to which parameters were fitted, and from each other. It
 * fits the mean of the error model's weights and the directions in which they vary. The data are variants of the
 * paper's boards, at random mixes and at the configurations that the search chooses. Writes `errors` of the shipped
 * parameters. Variants of other seeds are reserved for `evaluate-risk.ts`.
 *
 *   pnpm params:errors [--variants 50] [--rows 2700]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { boardVariants } from '@pctodl/gpu-sim'
import { partition } from '@pctodl/greedy-partition'
import { factorise, solveFactorised } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { formatParameters } from '../packages/perf-model/src/cli/parameter-folder.js'
import { FACTORS } from '../packages/perf-model/src/parameters.js'
import { MIX_TERMS, NETWORK_TERMS } from '../packages/perf-model/src/uncertainty/error-terms.js'
import { planLike } from './evaluation/plan-mixes.js'
import { scriptOptions } from './evaluation/script-options.js'
import { planProblems, randomMixes, truthOf } from './evaluation/unseen-boards.js'

const SEED = 11
/**
 * Weight of a row that a search chose. Such rows matter more, because plans are such rows, and the search prefers rows
 * whose power the equations underestimate.
 */
const SEARCH_WEIGHT = 10
/** Ridge penalty on the weights of one board. */
const RIDGE = 3e-3

interface Row {
  /** Value that the equations predict. */
  readonly predicted: number
  readonly weight: number
  readonly phi: Float64Array
  readonly residual: Float64Array
  /** Errors ln(measured / predicted), one per variant. */
  readonly errors: number[]
}

const options = scriptOptions(import.meta.filename, { variants: 50, rows: 2700 })
const home = path.join(import.meta.dirname, '..', 'packages', 'perf-model')

for (const board of ['3080Ti', 'A100']) {
  const model = loadPerfModel(board)
  const rows = trainingOf(model, options.rows).map(({ configuration, weight }) => {
    const terms = model.errorTerms(configuration)
    return {
      configuration,
      throughput: { ...terms.throughput, weight, errors: [] } as Row,
      power: { ...terms.power, weight, errors: [] } as Row,
    }
  })
  for (const variant of boardVariants(board, { count: options.variants, seed: SEED })) {
    const truth = truthOf(variant)
    for (const { configuration, throughput, power } of rows) {
      const ran = truth(configuration)
      throughput.errors.push(Math.log(ran.throughput / throughput.predicted))
      power.errors.push(Math.log(ran.powerW / power.predicted))
    }
  }
  const errors = (['throughput', 'power'] as const).map((quantity) => ({
    quantity,
    rows: 0,
    scale: 1,
    networks: model.networks,
    ...fitPrior(rows.map((row) => row[quantity])),
    learnt: [],
    covariance: [],
  }))
  const file = path.join(home, 'params', `${board}.json`)
  const before = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, formatParameters({ ...before, errors }))
}

/** Configurations to train on: random mixes, kinds that plans have, and plans that a search found. */
function trainingOf(model: PerfModel, count: number): { configuration: Configuration; weight: number }[] {
  const plans = planProblems(model, 'training', Math.round(0.12 * count)).flatMap((problem) => {
    const plan = partition(model, { ...problem, budgetEvaluations: 400 })
    return plan.feasible ? [{ configuration: plan.configuration, weight: SEARCH_WEIGHT }] : []
  })
  const random = randomMixes(model, Math.round(0.36 * count), 'training')
  const like = planLike(model, Math.round(0.52 * count), 'training')
  return [...[...random, ...like].map((configuration) => ({ configuration, weight: 1 })), ...plans]
}

/**
 * Fits the weights of each board by ridge regression. Returns their mean, and the principal components of their effects
 * on predictions around it.
 */
function fitPrior(rows: readonly Row[]) {
  const boards = rows[0]!.errors.length
  const n = rows[0]!.phi.length
  const products = new Float64Array(n * n)
  const weights = Array.from({ length: boards }, () => new Float64Array(n))
  for (const { phi, weight, errors } of rows) {
    for (let a = 0; a < n; a++) {
      const term = weight * phi[a]!
      if (term === 0) continue
      for (let b = 0; b < n; b++) products[a * n + b]! += term * phi[b]!
      weights.forEach((own, v) => {
        own[a]! += term * errors[v]!
      })
    }
  }
  for (let a = 0; a < n; a++) products[a * n + a]! += RIDGE
  factorise(products, n)
  for (const own of weights) solveFactorised(products, n, own)
  const mean = new Float64Array(n)
  for (const own of weights) for (let a = 0; a < n; a++) mean[a]! += own[a]! / boards
  const apart = weights.map((own) => own.map((weight, a) => weight - mean[a]!))

  const predicted = apart.map((own) => rows.map(({ phi }) => dot(phi, own)))
  const gram = predicted.map((one) => predicted.map((other) => dot(one, other)))
  const directions = eigenvectors(gram, FACTORS)
  const scale = 1 / Math.sqrt(boards - 1)
  const factors = directions.map((direction) =>
    Float64Array.from({ length: n }, (_, a) => scale * apart.reduce((sum, own, v) => sum + own[a]! * direction[v]!, 0)),
  )
  const left = rows.map(({ phi, errors }) => {
    const along = factors.map((factor) => dot(phi, factor))
    return errors.map(
      (error, v) =>
        error -
        dot(phi, mean) -
        dot(
          along,
          directions.map((each) => each[v]! / scale),
        ),
    )
  })
  const residual = residualWeights(rows, left)
  const networkSd = networkDeviation(rows, left)
  const percent = (value: number) => (100 * value).toFixed(2)
  console.log(
    `factors ${factors.map((factor) => percent(rootMeanSquare(rows.map(({ phi }) => dot(phi, factor))))).join(' ')} %, ` +
      `network ${percent(networkSd)} %, residual ${residual.map((each) => percent(Math.sqrt(each))).join(' ')} %`,
  )
  return { mean: digits(mean), factors: factors.map(digits), networkSd, residual: digits(residual) }
}

/** Eigenvectors of a symmetric matrix for its largest eigenvalues, by the power method. */
function eigenvectors(matrix: readonly (readonly number[])[], count: number): Float64Array[] {
  const found: Float64Array[] = []
  while (found.length < count) {
    let vector = Float64Array.from(matrix, (_, i) => Math.sin(1 + i * (1 + found.length)))
    for (let step = 0; step < 300; step++) {
      for (const other of found) {
        const along = dot(vector, other)
        vector = vector.map((value, i) => value - along * other[i]!)
      }
      vector = Float64Array.from(matrix, (row) => dot(row, vector))
      const length = Math.sqrt(dot(vector, vector))
      vector = vector.map((value) => value / length)
    }
    found.push(vector)
  }
  return found
}

/**
 * Fits the weights of the residual variance to the squared residuals by maximum likelihood. Multiplicative updates keep
 * the weights positive.
 */
function residualWeights(rows: readonly Row[], left: readonly (readonly number[])[]): number[] {
  const squares = left.map((errors) => dot(errors, errors) / errors.length)
  let weights = Array.from(rows[0]!.residual, () => 1e-4)
  for (let step = 0; step < 200; step++) {
    const above = weights.map(() => 0)
    const below = weights.map(() => 0)
    rows.forEach(({ residual }, i) => {
      const expected = dot(residual, weights)
      residual.forEach((term, j) => {
        above[j]! += (term * squares[i]!) / expected ** 2
        below[j]! += term / expected
      })
    })
    weights = weights.map((weight, j) => Math.max(1e-9, (weight * above[j]!) / below[j]!))
  }
  return weights
}

/** Standard deviation, over boards and networks, of the mean residual of a network on a board. */
function networkDeviation(rows: readonly Row[], left: readonly (readonly number[])[]): number {
  const n = rows[0]!.phi.length
  const sides: number[] = []
  for (let own = MIX_TERMS; own < n; own += NETWORK_TERMS) {
    const others = Array.from({ length: (n - MIX_TERMS) / NETWORK_TERMS }, (_, i) => MIX_TERMS + i * NETWORK_TERMS)
    const alone = rows.flatMap(({ phi }, i) => (others.every((at) => at === own || phi[at] === 0) ? [i] : []))
    for (let v = 0; v < rows[0]!.errors.length; v++) {
      sides.push(alone.reduce((sum, i) => sum + left[i]![v]!, 0) / alone.length)
    }
  }
  return digits([rootMeanSquare(sides)])[0]!
}

function rootMeanSquare(list: readonly number[]): number {
  return Math.sqrt(dot(list, list) / list.length)
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

function digits(list: ArrayLike<number>): number[] {
  return Array.from(list, (value) => Number(value.toPrecision(4)))
}
