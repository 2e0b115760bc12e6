import { SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { type Arrivals, fixedCap, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { runPolicy, ServicesPolicy } from '../src/index.js'
import { photos, search } from './two-services.js'

const POWER_CAP_W = 150
const MAX_PER_S = 1500

/** Arrivals by chance at a rate that changes with time: thinned from the highest rate. */
function arrivals(rateAt: (timeMs: number) => number, seed: number): Arrivals {
  const random = new SeededRandom(seed)
  let timeMs = 0
  return {
    nextMs() {
      do timeMs -= (1000 * Math.log(1 - random.uniform())) / MAX_PER_S
      while (random.uniform() * MAX_PER_S >= rateAt(timeMs))
      return timeMs
    },
  }
}

/** Share of a service's requests that was answered in time after 10 s, and whether the cap was kept. */
async function serve(rateAt: (timeMs: number) => number, meanPerS: number) {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu('A100', { clock, seed: 1 })
  const desk = new SimulatedDesk(gpu, ({ name, objective: { p99Ms } }) => ({
    arrivals: arrivals(name === 'search' ? rateAt : () => 200, name.length),
    maxQueued: 4096,
    shedAfterMs: p99Ms,
  }))
  const policy = new ServicesPolicy({
    model: loadPerfModel('A100'),
    services: [search, photos],
    expectedPerS: { search: meanPerS, photos: 200 },
  })
  let begun = desk.counters()
  const powerW: number[] = []
  let energyJ = 0
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy,
    caps: fixedCap(POWER_CAP_W),
    iterations: 35,
    windowMs: 1000,
    services: { desk, steps: [{ atMs: 0, services: [search, photos] }] },
    onSample: () => {
      powerW.push(10 * (gpu.truth().meteredEnergyJ - energyJ))
      energyJ = gpu.truth().meteredEnergyJ
    },
    onWindow: ({ iteration }) => {
      if (iteration === 10) begun = desk.counters()
    },
  })
  const now = desk.counters().find(({ service }) => service === 'search')!
  const before = begun.find(({ service }) => service === 'search')!
  const secondsW = powerW.map((_, i) => powerW.slice(i, i + 10)).filter((list) => list.length === 10)
  return {
    inTime: (now.completed - now.late - before.completed + before.late) / (now.arrived - before.arrived),
    maxW: Math.max(...secondsW.map((list) => list.reduce((sum, value) => sum + value, 0) / list.length)),
  }
}

describe('a service whose rate jumps', () => {
  it.each<[string, (timeMs: number) => number, number]>([
    ['from nothing to much for 3 s of every 8', (timeMs) => (timeMs % 8000 < 3000 ? 1200 : 0.3), 450],
    ['for half a second of every two', (timeMs) => (timeMs % 2000 < 500 ? 1200 : 200), 450],
    ['up a stair and down again', (timeMs) => [100, 300, 900, 1300, 300][Math.floor(timeMs / 4000) % 5]!, 580],
  ])('is answered in time under its cap: %s', async (_, rateAt, meanPerS) => {
    const { inTime, maxW } = await serve(rateAt, meanPerS)
    expect(inTime).toBeGreaterThan(0.985)
    expect(maxW).toBeLessThan(1.01 * POWER_CAP_W)
  })
})
