import { findGpuSpec } from '@pctodl/platform'
import { poissonArrivals } from '@pctodl/traffic'
import { describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { GovernLaw } from '../src/law/govern-law.js'
import { QueueService } from '../src/law/queue-service.js'
import { type VirtualLoad, VirtualServer } from './virtual-server.js'
import { drawTrial, judgeTrial, lawOf, plainKneeMhz, SCRAPE_MS, stepOf, type Trial } from './virtual-trials.js'

/** A trial with two models on one board. */
function coLocated(kind: Parameters<typeof drawTrial>[0], seed: number, seconds: number): Trial {
  for (let i = seed; ; i += 1000) {
    const trial = drawTrial(kind, i, seconds)
    if (trial.loads.length === 2) return trial
  }
}

describe('the law against the serving engine', () => {
  // `pnpm evaluate-govern` does the same for many traces.
  it.each(someOf(['steady', 'day'] as const, 'day'))(
    'keeps objectives with little more than the best fixed clock (%s)',
    async (kind) => {
      const { kept, ofBest, ofAlone } = await judgeTrial(coLocated(kind, 7, 120))
      expect(kept).toBe(true)
      expect(ofBest).toBeLessThanOrEqual(1.03)
      expect(ofAlone).toBeLessThan(0.8)
    },
  )

  it('knows after a minute how much longer two co-located models take at another clock', async () => {
    const trial = coLocated('steady', 3, 60)
    const server = await VirtualServer.start(trial.board, trial.loads, trial.seed)
    const law = lawOf(server)
    for (let ms = 0; ms < 60_000; ms += SCRAPE_MS) await server.lock((await stepOf(law, server)).smClockMhz)
    const topMhz = 1410
    const meanMs = async (smClockMhz: number) => {
      const fixed = await VirtualServer.start(trial.board, trial.loads, trial.seed)
      await fixed.lock(smClockMhz)
      await fixed.advance(60_000)
      return fixed.batches.map(
        ({ bySize }) => new Map([...bySize].map(([size, { count, ns }]) => [size, { count, ms: ns / 1e6 / count }])),
      )
    }
    const top = await meanMs(topMhz)
    for (const smClockMhz of [510, 1005]) {
      const there = await meanMs(smClockMhz)
      law.services.forEach((service, i) => {
        const { goal, times } = service as QueueService
        let [sum, topSum, learnt, topLearnt] = [0, 0, 0, 0]
        for (const [size, { count, ms }] of top[i]!) {
          const other = there[i]!.get(size)
          if (other === undefined || other.count < 20 || count < 20) continue
          sum += count * other.ms
          topSum += count * ms
          learnt += count * times.timeMs(size, smClockMhz)
          topLearnt += count * times.timeMs(size, topMhz)
        }
        const error = learnt / topLearnt / (sum / topSum) - 1
        expect(Math.abs(error), `${goal.name} at ${smClockMhz} MHz`).toBeLessThan(0.05)
      })
    }
  })

  it('plans for the items of requests', async () => {
    const [{ service }] = coLocated('steady', 7, 60).loads as [VirtualLoad]
    const poisson = poissonArrivals({ ratePerS: 110 })
    const server = await VirtualServer.start('A100', [{ service, arrivals: () => poisson.start(11), items: 4 }], 11)
    const law = lawOf(server)
    const late = () => server.counters()[0]!.late
    const clocksMhz: number[] = []
    let lateAtFirst = 0
    for (let ms = 0; ms < 60_000; ms += SCRAPE_MS) {
      if (ms === 10_000) lateAtFirst = late()
      const { smClockMhz } = await stepOf(law, server)
      await server.lock(smClockMhz)
      clocksMhz.push(smClockMhz ?? 0)
    }
    expect((late() - lateAtFirst) / server.counters()[0]!.completed).toBeLessThan(0.01)
    expect(clocksMhz.at(-1)).toBeLessThan(500)
  })

  it('lowers a clock that was between two states', () => {
    const limits = { maxBatchSize: 1, maxQueueDelayMs: 0, instances: 1 }
    const spec = findGpuSpec('A100')
    const law = new GovernLaw({ spec, services: [{ name: 'a', objectiveMs: 1000, attainment: 0.99, limits }] })
    let smClockMhz: number | null = null
    for (let i = 0; i < 240; i++) {
      const sums = { completed: i, failed: 0, latencyMs: 20 * i, waitMs: 0, queued: 0, running: 0 }
      const sample = { ...sums, batches: [{ size: 1, count: i, ms: 20 * i }] }
      const power = { powerInstantW: 80, powerAverageW: 80, energyJ: 20 * i }
      const load = { smUtilPercent: 10, memUtilPercent: 5, temperatureC: 50, throttleReasons: new Set<never>() }
      const ran: number = smClockMhz ?? 1402
      const telemetry = { timeMs: 250 * i, smClockMhz: ran, memClockMhz: 1215, ...power, ...load }
      smClockMhz = law.step([sample], telemetry as never).smClockMhz
    }
    expect(smClockMhz).toBeLessThan(1200)
    expect(spec.clockStates[0]!.smClocksMhz).toContain(smClockMhz)
  })

  it('knows a low rate while waiting requests start to run', () => {
    const limits = { maxBatchSize: 1, maxQueueDelayMs: 0, instances: 1 }
    const service = new QueueService({ name: 'a', objectiveMs: 1000, attainment: 0.99, limits }, limits, 1410)
    const interval = { seconds: 0.25, clockMhz: 1410, busyShare: 0.5 }
    // Each second, a request waits at two samples and runs at the other two.
    for (let i = 0; i < 240; i++) {
      const completed = Math.floor(i / 4)
      const sums = { completed, failed: 0, latencyMs: 900 * completed, waitMs: 500 * completed }
      const sample = { ...sums, queued: i % 4 < 2 ? 1 : 0, running: 0, batches: [] }
      service.update(sample, 250 * i, interval)
      if (i > 40) expect(service.rate.perS).toBeCloseTo(1, 0)
    }
  })

  it('does not take a load beyond all measure for none', async () => {
    const trial = coLocated('steady', 7, 10)
    const server = await VirtualServer.start(trial.board, trial.loads, trial.seed)
    const law = lawOf(server)
    for (let ms = 0; ms < 10_000; ms += SCRAPE_MS) await server.lock((await stepOf(law, server)).smClockMhz)
    const metrics = server.metrics.bind(server)
    server.metrics = () => metrics().replaceAll(/(pending_request_count\{.*\}) .*/g, '$1 1e12')
    const { smClockMhz } = await stepOf(law, server)
    expect(smClockMhz).toBeGreaterThan(1000)
  })

  it('asks for no clock beyond what helps where no clock keeps the objective', async () => {
    const [load] = drawTrial('steady', 1, 30).loads
    const hopeless = { ...load!, service: { ...load!.service, objective: { p99Ms: 0.5 } } }
    const server = await VirtualServer.start('A100', [hopeless], 1)
    const law = lawOf(server)
    let clock: number | null = null
    for (let ms = 0; ms < 30_000; ms += SCRAPE_MS) {
      clock = (await stepOf(law, server)).smClockMhz
      await server.lock(clock)
    }
    expect(clock).toBeLessThanOrEqual(plainKneeMhz('A100'))
  })
})
