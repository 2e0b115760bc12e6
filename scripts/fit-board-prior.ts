/**
 * How boards of one kind differ from the simulated one that parameters were fitted to: fits mean and variance of the terms of the error model to
 * variants of the paper's boards, at random mixes and where the search's plans go, and writes `errors` of the shipped
 * parameters. Variants of other seeds are left to `evaluate-risk.ts`.
 *
 *   pnpm params:errors [--variants 50] [--rows 300] [--widen 1.35] [--without <structure, 0 to 4>]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { partition } from '@pctodl/greedy-partition'
import { factorise, inverseFromFactor, solveFactorised } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'
import { formatParameters } from '../packages/perf-model/src/parameter-folder.js'
import { MIX_TERMS, NETWORK_TERMS } from '../packages/perf-model/src/uncertainty/term-counts.js'
import { planLike } from './evaluation/plan-mixes.js'
import { planProblems, randomMixes, STRUCTURES, truthOf, variantsOf } from './evaluation/unseen-boards.js'

const SEED = 11
const ROUNDS = 4
const STEPS = 8
const LEAST_VARIANCE = 1e-7

interface Row {
  readonly phi: Float64Array
  readonly residual: Float64Array
  readonly error: number
}
interface Prior {
  readonly mean: Float64Array
  readonly variance: Float64Array
  readonly residual: number[]
}

const { values } = parseArgs({
  options: {
    variants: { type: 'string', default: '50' },
    rows: { type: 'string', default: '300' },
    widen: { type: 'string', default: '1.35' },
    without: { type: 'string' },
  },
})
const structures = Array.from({ length: STRUCTURES }, (_, i) => i).filter((i) => String(i) !== values.without)
const models = ['3080Ti', 'A100'].map(loadPerfModel)
/** By board and variant. */
const rows = models.map((model) => {
  const training = trainingOf(model, Number(values.rows)).map((configuration) => {
    const { throughput, powerW } = model.predict(configuration)
    return { configuration, throughput, powerW, terms: model.errorTerms(configuration) }
  })
  return variantsOf(model.spec.key, Number(values.variants), SEED, structures).map((variant, v) => {
    const truth = truthOf(variant)
    return training
      .filter((_, i) => (i * 7 + v * 13) % 17 < 10)
      .map(({ configuration, throughput, powerW, terms }) => {
        const ran = truth(configuration)
        return {
          throughput: { ...terms.throughput, error: Math.log(ran.throughput / throughput) },
          power: { ...terms.power, error: Math.log(ran.powerW / powerW) },
        }
      })
  })
})
const home = path.join(import.meta.dirname, '..', 'packages', 'perf-model')
const widen = Number(values.widen) ** 2
models.forEach(({ spec, parameters }, b) => {
  const errors = parameters.errors.map(({ quantity }) => {
    const { mean, variance, residual } = fitPrior(rows[b]!.map((variant) => variant.map((row) => row[quantity])))
    return {
      quantity,
      rows: 0,
      scale: 1,
      mix: digits(variance.subarray(0, MIX_TERMS)),
      network: digits(variance.subarray(MIX_TERMS, MIX_TERMS + NETWORK_TERMS)),
      residual: digits(residual.map((each) => each * widen)),
      networks: [...parameters.networks.map(({ name }) => name)],
      mean: digits(mean),
      covariance: [],
    }
  })
  const file = path.join(home, 'params', `${spec.key}.json`)
  writeFileSync(file, formatParameters({ ...JSON.parse(readFileSync(file, 'utf8')), errors }))
})

/** A third each: random mixes, such as plans are, and the plans of a search. */
function trainingOf(model: PerfModel, count: number): Configuration[] {
  const plans = planProblems(model, 'training', Math.round(0.4 * count)).flatMap((problem) => {
    const plan = partition(model, { ...problem, budgetEvaluations: 400 })
    return plan.feasible ? [plan.configuration] : []
  })
  return [...randomMixes(model, 0.6 * count, 'training'), ...planLike(model, 0.7 * count, 'training'), ...plans]
}

/** Empirical Bayes over boards of one kind, each a draw of beta: its mean, and its variances, those of a term the same for all networks. */
function fitPrior(boards: readonly (readonly Row[])[]): Prior {
  const n = boards[0]![0]!.phi.length
  let mean = new Float64Array(n)
  let variance = new Float64Array(n).fill(1e-3)
  let residual = [1e-4, 1e-4, 1e-4]
  for (let round = 0; round < ROUNDS; round++) {
    const sums = boards.map((own) => sumsOf(own, residual))
    for (let step = 0; step < STEPS; step++) {
      const posteriors = sums.map((own) => posterior(own, mean, variance))
      const next = new Float64Array(n)
      for (const { beta } of posteriors) for (let i = 0; i < n; i++) next[i]! += beta[i]! / boards.length
      const spread = new Float64Array(n)
      const known = new Float64Array(n)
      for (const { beta, covariance } of posteriors) {
        for (let i = 0; i < n; i++) {
          const term = i < MIX_TERMS ? i : MIX_TERMS + ((i - MIX_TERMS) % NETWORK_TERMS)
          spread[term]! += (beta[i]! - next[i]!) ** 2
          known[term]! += 1 - covariance[i * n + i]! / variance[i]!
        }
      }
      mean = next
      // MacKay's fixed point: what each variance explains over how well it is known. Expectation and maximisation take ten times the steps.
      variance = variance.map((_, i) => {
        const term = i < MIX_TERMS ? i : MIX_TERMS + ((i - MIX_TERMS) % NETWORK_TERMS)
        return Math.max(LEAST_VARIANCE, spread[term]! / known[term]!)
      })
    }
    const left = boards.flatMap((own, v) => {
      const { beta, covariance } = posterior(sums[v]!, mean, variance)
      return own.map((row) => ({ row, square: (row.error - dot(row.phi, beta)) ** 2 + form(row.phi, covariance) }))
    })
    // Weights of at least 0 by multiplication, each square counted by what it is expected to be.
    for (let step = 0; step < 50; step++) {
      const above = [0, 0, 0]
      const below = [0, 0, 0]
      for (const { row, square } of left) {
        const expected = dot(row.residual, residual)
        for (let j = 0; j < residual.length; j++) {
          above[j]! += (row.residual[j]! * square) / expected ** 2
          below[j]! += row.residual[j]! / expected
        }
      }
      residual = residual.map((weight, j) => Math.max(1e-9, (weight * above[j]!) / below[j]!))
    }
  }
  // Terms go together, and variances by themselves add up to more than boards differ by: all are scaled until the errors are as large as they say.
  const rows = boards.flat().map((row) => ({
    left: dot(row.residual, residual),
    terms: row.phi.reduce((sum, term, i) => sum + term * term * variance[i]!, 0),
    square: (row.error - dot(row.phi, mean)) ** 2,
  }))
  const sizeAt = (factor: number) =>
    rows.reduce((sum, { left, terms, square }) => sum + square / (left + factor * terms), 0) / rows.length
  let [low, high] = [0.01, 1.5]
  for (let step = 0; step < 30; step++) {
    const middle = Math.sqrt(low * high)
    if (sizeAt(middle) > 1) low = middle
    else high = middle
  }
  variance = variance.map((value) => value * high)
  const like = residual[0]! + residual[1]!
  console.log(
    `variances times ${high.toFixed(2)}; left over of a tenant ${(100 * Math.sqrt(like)).toFixed(2)} %, ` +
      `of twenty like ones ${(100 * Math.sqrt(like + residual[2]!)).toFixed(2)} %`,
  )
  return { mean, variance, residual }
}

function sumsOf(own: readonly Row[], residual: readonly number[]) {
  const n = own[0]!.phi.length
  const products = new Float64Array(n * n)
  const moments = new Float64Array(n)
  for (const { phi, residual: shape, error } of own) {
    const per = 1 / dot(shape, residual)
    for (let a = 0; a < n; a++) {
      const term = per * phi[a]!
      if (term === 0) continue
      moments[a]! += term * error
      for (let b = 0; b < n; b++) products[a * n + b]! += term * phi[b]!
    }
  }
  return { products, moments }
}

function posterior({ products, moments }: ReturnType<typeof sumsOf>, mean: Float64Array, variance: Float64Array) {
  const n = moments.length
  const precision = Float64Array.from(products)
  const beta = moments.map((value, i) => value + mean[i]! / variance[i]!)
  for (let i = 0; i < n; i++) precision[i * n + i]! += 1 / variance[i]!
  factorise(precision, n)
  solveFactorised(precision, n, beta)
  return { beta, covariance: inverseFromFactor(precision, n) }
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}

function form(phi: Float64Array, covariance: Float64Array): number {
  const n = phi.length
  let sum = 0
  for (let a = 0; a < n; a++) {
    if (phi[a] === 0) continue
    for (let b = 0; b < n; b++) sum += phi[a]! * covariance[a * n + b]! * phi[b]!
  }
  return sum
}

function digits(list: ArrayLike<number>): number[] {
  return Array.from(list, (value) => Number(value.toPrecision(4)))
}
