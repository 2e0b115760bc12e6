/**
 * Measures how well `@pctodl/perf-model/serving` predicts the latencies of requests. The reference is the event
 * simulation of `gpu-sim`, with batch times from the same predictor, so that only the queueing approximation differs.
 * Each case is simulated until the service with the lowest rate has had the given number of requests.
 *
 *   npx tsx --conditions=@pctodl/source scripts/serving-accuracy.ts [cases] [requests]
 */
import { pathToFileURL } from 'node:url'
import { quantile, SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type PerfModel } from '@pctodl/perf-model'
import { ServingModel } from '@pctodl/perf-model/serving'
import type { Configuration, Service, Tenant } from '@pctodl/platform'
import { poissonArrivals } from '@pctodl/traffic'
import { ServingEngine } from '../packages/gpu-sim/src/serving/serving-engine.js'
import { idleState } from '../packages/gpu-sim/src/steady-state.js'
import { TestProcess } from '../packages/gpu-sim/test/serving-laws.js'
import { BatchCostTable } from '../packages/perf-model/src/serving/batch-costs.js'

/** Services on a board, with their arrival rates. */
interface ServingCase {
  readonly model: PerfModel
  readonly configuration: Configuration
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  readonly seed: number
}

export interface Compared {
  /** Simulated utilization of the service, 0..1. */
  readonly utilisation: number
  readonly instances: number
  /** Predicted divided by simulated value, minus 1. */
  readonly p50: number
  readonly p99: number
  readonly power: number
}

/** Draws cases of two to four services with different shares, batch sizes, queue delays and loads. */
export function servingCases(count: number, random: SeededRandom): ServingCase[] {
  return Array.from({ length: count }, (_, seed) => {
    const board = random.uniform() < 0.5 ? 'A100' : '3080Ti'
    const model = loadPerfModel(board)
    const memClockMhz = model.memClocksMhz[0]!
    const services: Service[] = Array.from({ length: 2 + random.integer(3) }, (_, i) => ({
      name: `s${i}`,
      model: model.networks[random.integer(model.networks.length)]!,
      objective: { p99Ms: 100 },
      weight: 1,
      maxBatchSize: 2 ** random.integer(6),
      maxQueueDelayMs: [0, 0, 2, 5][random.integer(4)]!,
    }))
    const tenants: Tenant[] = services.flatMap((service) => {
      const instances = 1 + random.integer(2)
      const mpsPercent = Math.floor(100 / services.length / instances)
      const tenant = { model: service.model, mpsPercent, batchSize: service.maxBatchSize, service: service.name }
      return Array.from({ length: instances }, () => tenant)
    })
    const configuration = { tenants, smClockMhz: 900 + 15 * random.integer(30), memClockMhz }
    const capacity = model.predict(configuration).tenants
    const ratesPerS = services.map(({ name }) => {
      const most = tenants.reduce((sum, tenant, i) => sum + (tenant.service === name ? capacity[i]!.throughput : 0), 0)
      return (0.15 + 0.7 * random.uniform()) * most
    })
    return { model, configuration, services, ratesPerS, seed }
  })
}

/** Compares prediction and simulation of each service of a case. */
export function compare(
  { model, configuration, services, ratesPerS, seed }: ServingCase,
  requests = 30_000,
): Compared[] {
  const { tenants, smClockMhz, memClockMhz } = configuration
  const idleW = new BatchCostTable(model).idlePowerW(smClockMhz, memClockMhz)
  // The engine averages the fields of a state over time. The power is put into `flopPerS`, so that its mean is
  // computed.
  const solver = {
    solve(mix: Configuration) {
      if (mix.tenants.length === 0) return { ...idleState, flopPerS: idleW }
      const { powerW, tenants: each } = model.predict(mix)
      const batches = each.map(({ latencyMs, throughput }) => ({ throughput, batchMs: latencyMs, deviceShare: 1 }))
      return { ...idleState, tenants: batches, flopPerS: powerW }
    },
  }
  const engine = new ServingEngine(solver, 0, { seed })
  services.forEach((service, i) => {
    engine.addService({
      service,
      arrivals: poissonArrivals({ ratePerS: ratesPerS[i]! }).start(100 * seed + i),
      maxQueued: 1e6,
    })
  })
  const processes = tenants.map((tenant) => new TestProcess(tenant))
  engine.setProcesses(processes)
  const durationMs = (1000 * requests) / Math.min(...ratesPerS)
  engine.advance(durationMs, smClockMhz, memClockMhz)
  const predicted = new ServingModel(model, configuration, services).predict(ratesPerS)
  return engine.counters().map(({ latencies }, i) => {
    const own = processes.filter(({ tenant }) => tenant.service === services[i]!.name)
    const busyMs = own.reduce((sum, { latencySumMs }) => sum + latencySumMs, 0)
    const of = predicted.services[i]!
    return {
      utilisation: busyMs / own.length / durationMs,
      instances: own.length,
      p50: of.p50Ms / latencies.quantileMs(0.5) - 1,
      p99: of.p99Ms / latencies.quantileMs(0.99) - 1,
      power: predicted.powerW / engine.mean.flopPerS - 1,
    }
  })
}

const percent = (x: number) => `${(100 * x).toFixed(1)} %`

/** Median and 90th percentile of the errors, by utilization and by number of tenants per service. */
function accuracyTable(cases: readonly ServingCase[], requests: number): Record<string, string | number>[] {
  const compared = cases.flatMap((each) => compare(each, requests))
  const rows: Record<string, string | number>[] = []
  for (const [from, to] of [
    [0, 0.3],
    [0.3, 0.6],
    [0.6, 0.85],
    [0.85, 1],
  ] as const) {
    for (const instances of [1, 2]) {
      const within = compared.filter(
        (each) => each.utilisation >= from && each.utilisation < to && each.instances === instances,
      )
      if (within.length === 0) continue
      const errors = (key: 'p50' | 'p99' | 'power') => {
        const sizes = within.map((each) => Math.abs(each[key])).sort((a, b) => a - b)
        return `${percent(quantile(sizes, 0.5))} / ${percent(quantile(sizes, 0.9))} / ${percent(sizes.at(-1)!)}`
      }
      rows.push({
        utilisation: `${from} to ${to}`,
        tenants: instances,
        services: within.length,
        p50: errors('p50'),
        p99: errors('p99'),
        power: errors('power'),
      })
    }
  }
  return rows
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [count, requests] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 10_000)]
  console.table(accuracyTable(servingCases(count, new SeededRandom(1)), requests))
}
