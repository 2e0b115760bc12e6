/**
 * How well `@pctodl/perf-model/serving` predicts the p99 of requests, by kind of traffic and by load. The reference is
 * the event simulation of `gpu-sim`, with batch times from the same predictor, so that only the queueing approximation
 * differs; with `PCTODL_PHYSICS`, it has those of the variants of the simulated boards. The load is the rate over the
 * capacity; if the rate changes, the highest rate. The model is asked at each of the rates. Burstiness is measured in
 * intervals as long as the predicted p99, or of 100 ms. `PCTODL_CASES=420` prints the table.
 */
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { quantile, SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import type { Configuration, Service, Tenant } from '@pctodl/platform'
import {
  type ArrivalProcess,
  arrivalTimes,
  constantArrivals,
  diurnalArrivals,
  gammaArrivals,
  logNormalArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  replayedRates,
} from '@pctodl/traffic'
import { expect, it } from 'vitest'
import { ServingEngine } from '../packages/gpu-sim/src/serving/serving-engine.js'
import { idleState } from '../packages/gpu-sim/src/steady-state.js'
import { TestProcess } from '../packages/gpu-sim/test/serving-laws.js'
import { BatchCostTable } from '../packages/perf-model/src/serving/batch-costs.js'
import { numberIn } from './long-tests.js'

/** Rounds of the iteration between p99 and the intervals in which burstiness is measured. */
const ROUNDS = 2

const physics = process.env['PCTODL_PHYSICS'] !== undefined

type Traffic = (ratePerS: number, burstiness: number) => ArrivalProcess

/** Kinds of traffic, each with the factors that its rate takes for equal parts of the time. */
const kinds: Readonly<Record<string, readonly [traffic: Traffic, factors: readonly number[]]>> = {
  constant: [(ratePerS) => constantArrivals({ ratePerS }), [1]],
  poisson: [(ratePerS) => poissonArrivals({ ratePerS }), [1]],
  gamma: [(ratePerS, burstiness) => gammaArrivals({ ratePerS, burstiness }), [1]],
  'log-normal': [(ratePerS, burstiness) => logNormalArrivals({ ratePerS, burstiness }), [1]],
  'markov-modulated': [
    (ratePerS, burstiness) => {
      const states = [0.5, 0.5, 2].map((factor) => ({ ratePerS: factor * ratePerS, meanDwellMs: 1000 * burstiness }))
      return markovModulatedArrivals({ states })
    },
    [0.5, 0.5, 2],
  ],
  diurnal: [
    (meanRatePerS) => diurnalArrivals({ meanRatePerS, swing: 0.7, periodMs: 60_000 }),
    Array.from({ length: 12 }, (_, i) => 1 + 0.7 * Math.cos((Math.PI * i) / 11)),
  ],
  'replayed rates': [
    (ratePerS) => {
      const ratesPerS = [0.4, 0.8, 1.6, 1.2].map((factor) => factor * ratePerS)
      return replayedRates({ ratesPerS, stepMs: 10_000, repeat: true })
    },
    [0.4, 0.8, 1.6, 1.2],
  ],
}

/** Services on a board, with their arrivals. */
interface ServingCase {
  readonly model: PerfModel
  readonly variant: string
  readonly configuration: Configuration
  readonly services: readonly Service[]
  readonly kind: string
  readonly ratesPerS: readonly number[]
  readonly load: number
  readonly burstiness: number
  readonly seed: number
}

interface Compared {
  readonly kind: string
  readonly load: number
  /** Predicted divided by simulated value, minus 1; `p99Sampled` with burstiness in intervals of 100 ms. */
  readonly p99: number
  readonly p99Sampled: number
  readonly power: number
}

/** Draws cases of one to four services with different shares, batch sizes, queue delays and loads. */
function servingCases(count: number, random: SeededRandom): ServingCase[] {
  return Array.from({ length: count }, (_, i) => {
    const board = random.uniform() < 0.5 ? 'A100' : '3080Ti'
    const model = loadPerfModel(board)
    const parts = Array.from({ length: 1 + random.integer(4) }, () => 0.3 + random.uniform())
    const services = parts.map((_, s): Service => {
      return {
        name: `s${s}`,
        model: model.networks[random.integer(model.networks.length)]!,
        objective: { p99Ms: 100 },
        weight: 1,
        maxBatchSize: 2 ** random.integer(6),
        maxQueueDelayMs: [0, 0, 2, 5][random.integer(4)]!,
      }
    })
    const tenants = services.flatMap(({ name, model, maxBatchSize }, s): Tenant[] => {
      const instances = 1 + random.integer(2)
      const mpsPercent = Math.floor((95 * parts[s]!) / parts.reduce((sum, part) => sum + part) / instances)
      return Array(instances).fill({ model, mpsPercent, batchSize: maxBatchSize, service: name })
    })
    const memClockMhz = model.memClocksMhz[random.integer(model.memClocksMhz.length)]!
    const configuration = { tenants, smClockMhz: 600 + 15 * random.integer(50), memClockMhz }
    const kind = Object.keys(kinds)[i % Object.keys(kinds).length]!
    const load = 0.1 + 0.8 * random.uniform()
    const capacity = model.predict(configuration).tenants
    const ratesPerS = services.map(({ name }) => {
      const most = tenants.reduce((sum, tenant, t) => sum + (tenant.service === name ? capacity[t]!.throughput : 0), 0)
      return (load * most) / Math.max(...kinds[kind]![1])
    })
    const variant = `${board}~v${1 + random.integer(8)}`
    const burstiness = 16 ** random.uniform()
    const seed = random.integer(1e6)
    return { model, variant, configuration, services, kind, ratesPerS, load, burstiness, seed }
  })
}

/** Compares prediction and simulation of each service of a case. */
function compare(of: ServingCase, requests: number): Compared[] {
  const { model, variant, configuration, services, kind, load, ratesPerS, burstiness, seed } = of
  const { tenants, smClockMhz, memClockMhz } = configuration
  const [traffic, factors] = kinds[kind]!
  const costs = new BatchCostTable(model)
  const settle = simulateSteadyState(variant)
  // The engine averages the fields of a state over time. The power is put into `flopPerS`, so that its mean is
  // computed.
  const solver = {
    solve(mix: Configuration) {
      if (mix.tenants.length === 0) return { ...idleState, flopPerS: costs.idlePowerW(smClockMhz, memClockMhz) }
      if (physics) return settle(mix)
      const { powerW, tenants: each } = model.predict(mix)
      const batches = each.map(({ latencyMs, throughput }) => ({ throughput, batchMs: latencyMs, deviceShare: 1 }))
      return { ...idleState, tenants: batches, flopPerS: powerW }
    },
  }
  const engine = new ServingEngine(solver, 0, { seed })
  // With bursty gaps, the p99 of equally many requests differs most between seeds.
  const longer = kind === 'gamma' || kind === 'log-normal' ? burstiness : 1
  const durationMs = Math.max(120_000, (1000 * requests * longer) / Math.min(...ratesPerS))
  services.forEach((service, i) => {
    const arrivals = traffic(ratesPerS[i]!, burstiness).start(seed + i)
    engine.addService({ service, arrivals, maxQueued: 1e7 })
  })
  engine.setProcesses(tenants.map((tenant) => new TestProcess(tenant)))
  engine.advance(durationMs, smClockMhz, memClockMhz)

  const serving = (p99Ms: readonly number[]) => {
    const asked = services.map((service, i) => ({ ...service, objective: { p99Ms: p99Ms[i]! } }))
    return new ServingModel(model, configuration, asked, { costs })
  }
  /** The latencies that 99 % of the requests at all rates do not exceed, ms. */
  const p99s = (bursts: readonly number[]) => {
    const low = services.map(() => 0)
    const high = services.map(() => 1e5)
    const middle = () => low.map((ms, i) => (ms + high[i]!) / 2)
    for (let step = 0; step < 24; step++) {
      const asked = serving(middle())
      const within = services.map(() => 0)
      for (const factor of factors) {
        for (const i of within.keys()) {
          // The states of the services are independent; their days are not.
          const factorOf = (other: number) => (kind === 'markov-modulated' && other !== i ? 1 : factor)
          const rates = ratesPerS.map((rate, other) => factorOf(other) * rate)
          within[i]! += factor * asked.predict(rates, bursts).services[i]!.attainment
        }
      }
      const total = factors.reduce((sum, factor) => sum + factor)
      for (const [i, ms] of middle().entries()) (within[i]! >= 0.99 * total ? high : low)[i] = ms
    }
    return high
  }
  const burstinessIn = (intervalsMs: readonly number[]) =>
    services.map((_, i) => {
      const untilMs = 300_000
      const counts = new Array<number>(Math.ceil(untilMs / intervalsMs[i]!)).fill(0)
      // Other arrivals than the simulated ones.
      const times = arrivalTimes(traffic(ratesPerS[i]!, burstiness), { seed: seed + 100 + i, untilMs })
      for (const timeMs of times) counts[Math.floor(timeMs / intervalsMs[i]!)]!++
      const squares = counts.reduce((sum, count, k) => sum + (k === 0 ? 0 : (count - counts[k - 1]!) ** 2), 0)
      return Math.min(
        1000,
        Math.max(
          1,
          squares /
            2 /
            Math.max(
              1,
              counts.reduce((sum, count) => sum + count),
            ),
        ),
      )
    })
  let p99Ms = p99s(services.map(() => 1))
  for (let round = 0; round < ROUNDS; round++) p99Ms = p99s(burstinessIn(p99Ms))
  const sampled = p99s(burstinessIn(services.map(() => 100)))
  const meanW = factors.reduce((sum, factor) => {
    return sum + serving(p99Ms).predict(ratesPerS.map((rate) => factor * rate)).powerW / factors.length
  }, 0)
  return engine.counters().map(({ latencies }, i) => {
    const actualMs = latencies.quantileMs(0.99)
    const power = meanW / engine.mean.flopPerS - 1
    return { kind, load, p99: p99Ms[i]! / actualMs - 1, p99Sampled: sampled[i]! / actualMs - 1, power }
  })
}

/** Share of the errors within 20 %. */
function within20(errors: readonly number[]): number {
  return errors.filter((error) => Math.abs(error) <= 0.2).length / errors.length
}

const percent = (x: number) => `${(100 * x).toFixed(1)} %`

function rowOf(name: string, compared: readonly Compared[]): Record<string, string | number> {
  const errors = (of: readonly Compared[]) => of.map(({ p99 }) => p99)
  const sizes = errors(compared).map(Math.abs)
  const between = (from: number, to: number) => {
    const some = compared.filter(({ load }) => load >= from && load < to)
    return some.length === 0 ? '-' : percent(within20(errors(some)))
  }
  return {
    traffic: name,
    services: compared.length,
    'error of p99, median / 95 %': `${percent(quantile(sizes, 0.5))} / ${percent(quantile(sizes, 0.95))}`,
    'within 20 %': percent(within20(errors(compared))),
    'too low': percent(compared.filter(({ p99 }) => p99 < -0.2).length / compared.length),
    'load .1 to .3': between(0.1, 0.3),
    '.3 to .5': between(0.3, 0.5),
    '.5 to .7': between(0.5, 0.7),
    '.7 to .9': between(0.7, 0.9),
    'burstiness in 100 ms': percent(within20(compared.map(({ p99Sampled }) => p99Sampled))),
  }
}

it('predicts the p99 of requests about as the event simulation finds it', { timeout: 3_600_000 }, () => {
  const count = process.env['PCTODL_CASES']
  const cases = servingCases(Number(count ?? 21), new SeededRandom(numberIn('PCTODL_SEED', 3)))
  const compared = cases.flatMap((each) => compare(each, count ? 15_000 : 6000))
  const ofKind = (...names: string[]) => compared.filter(({ kind }) => names.includes(kind))
  const bursty = Object.keys(kinds).filter((kind) => kind !== 'constant')
  if (count) {
    console.table([
      ...Object.keys(kinds).map((kind) => rowOf(kind, ofKind(kind))),
      rowOf('all but constant', ofKind(...bursty)),
    ])
  }
  if (physics) return
  const sizes = ofKind(...bursty).map(({ p99 }) => Math.abs(p99))
  expect(quantile(sizes, 0.5)).toBeLessThan(0.08)
  expect(within20(ofKind(...bursty).map(({ p99 }) => p99))).toBeGreaterThan(0.75)
  expect(within20(ofKind('poisson', 'diurnal', 'replayed rates').map(({ p99 }) => p99))).toBeGreaterThan(0.9)
  // Regular arrivals wait less than the model's.
  for (const { p99 } of ofKind('constant')) expect(p99).toBeGreaterThan(-0.15)
  const power = compared.map((each) => Math.abs(each.power))
  expect(quantile(power, 0.9)).toBeLessThan(0.08)
})
