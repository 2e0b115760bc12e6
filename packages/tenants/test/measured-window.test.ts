import { LatencyHistogram, type Tenant, type TenantCounters, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { measureWindow } from '../src/pool/common-window.js'
import type { WorkerProcess } from '../src/pool/worker-process.js'

const tenant: Tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 4 }

/** A worker as a window sees it: counters, which it tells when it is asked. */
class CountingWorker {
  readonly id: number
  stalledAtMs = Number.NEGATIVE_INFINITY
  state: TenantCounters['state'] = 'running'
  failure: string | undefined
  readonly #clock: VirtualClock
  readonly #latencies = new LatencyHistogram()
  #batches = 0
  #latencySumMs = 0
  #lastCompletionMs = 0

  constructor(id: number, clock: VirtualClock) {
    this.id = id
    this.#clock = clock
  }

  completed(latencyMs: number): void {
    this.#batches++
    this.#latencySumMs += latencyMs
    this.#lastCompletionMs = this.#clock.now()
    this.#latencies.record(latencyMs)
  }

  async report(): Promise<boolean> {
    return true
  }

  get counters(): TenantCounters {
    return {
      id: this.id,
      tenant,
      state: this.state,
      samples: tenant.batchSize * this.#batches,
      batches: this.#batches,
      latencySumMs: this.#latencySumMs,
      lastCompletionMs: this.#lastCompletionMs,
      lastBatchSize: tenant.batchSize,
      latencies: this.#latencies.snapshot(),
      ...(this.failure === undefined ? {} : { failure: this.failure }),
    }
  }
}

/** A batch each 10 ms, for so many of them, of these latencies in turn. */
async function work(worker: CountingWorker, clock: VirtualClock, latenciesMs: readonly number[]): Promise<void> {
  for (const latencyMs of latenciesMs) {
    await clock.sleep(10)
    worker.completed(latencyMs)
  }
}

const measure = (workers: readonly CountingWorker[], clock: VirtualClock, durationMs: number) =>
  measureWindow(() => workers as unknown as readonly WorkerProcess[], clock, durationMs)

describe('a common window', () => {
  it('is of what was completed within it, and of nothing before', async () => {
    const clock = new VirtualClock()
    const worker = new CountingWorker(1, clock)
    await work(worker, clock, [1000, 1000, 1000])
    const working = work(
      worker,
      clock,
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
    const window = await measure([worker], clock, 1005)
    await working
    expect(window).toMatchObject({ durationMs: 1005, samples: 400, validity: 'ok' })
    const { throughput, batches, latencyMeanMs, latencyP50Ms, latencyP95Ms, latencyP99Ms } = window.tenants[0]!
    expect([throughput, batches, latencyMeanMs]).toEqual([400, 100, 50.5])
    // As exactly as a histogram of a few hundredths a bucket tells.
    for (const [told, percent] of [
      [latencyP50Ms, 50],
      [latencyP95Ms, 95],
      [latencyP99Ms, 99],
    ] as const) {
      expect(Math.abs(told - percent)).toBeLessThan(0.05 * percent)
    }
    expect([latencyP50Ms, latencyP95Ms, latencyP99Ms]).toEqual(
      [latencyP50Ms, latencyP95Ms, latencyP99Ms].sort((a, b) => a - b),
    )
  })

  it('is the sum of its tenants, and as good as the worst of them', async () => {
    const clock = new VirtualClock()
    const [one, other] = [new CountingWorker(1, clock), new CountingWorker(2, clock)]
    await Promise.all([work(one, clock, [1]), work(other, clock, [1])])
    const latenciesMs = Array.from({ length: 50 }, () => 5)
    const working = Promise.all([work(one, clock, latenciesMs), work(other, clock, latenciesMs.slice(25))])
    const window = await measure([one, other], clock, 505)
    await working
    expect(window.tenants.map(({ throughput }) => throughput)).toEqual([400, 400])
    expect([window.throughput, window.samples]).toEqual([800, 300])
    other.stalledAtMs = clock.now() + 50
    const again = work(one, clock, latenciesMs.slice(0, 10))
    const stalled = await measure([one, other], clock, 105)
    await again
    expect(stalled.validity).toBe('stalled')
    expect(stalled.tenants.map(({ validity, disturbance }) => [validity, disturbance])).toEqual([
      ['ok', undefined],
      ['stalled', 'it completed nothing for a part of the window'],
    ])
  })

  it('of nobody is empty', async () => {
    const clock = new VirtualClock()
    expect(await measure([], clock, 100)).toEqual({
      durationMs: 100,
      tenants: [],
      throughput: 0,
      validity: 'ok',
      samples: 0,
    })
  })

  it('says why a figure is not that of one process that ran all the time', async () => {
    const told = async (during: (worker: CountingWorker) => CountingWorker | undefined) => {
      const clock = new VirtualClock()
      const worker = new CountingWorker(1, clock)
      const workers = [worker]
      await work(worker, clock, [5])
      const changing = clock.sleep(50).then(() => {
        workers[0] = during(worker) ?? worker
      })
      const { tenants } = await measure(workers, clock, 100)
      await changing
      return `${tenants[0]!.validity}: ${tenants[0]!.disturbance}`
    }
    const as = (state: TenantCounters['state'], failure?: string) => (worker: CountingWorker) => {
      Object.assign(worker, { state, failure })
      return worker
    }
    const other = (state: TenantCounters['state']) => () => as(state)(new CountingWorker(2, new VirtualClock()))
    for (const [during, said] of [
      [as('failed', 'exit code 3'), 'failed: exit code 3'],
      [as('failed'), 'failed: it has failed'],
      [as('stalled', 'stalled: no batch'), 'stalled: stalled: no batch'],
      [as('stalled'), 'stalled: it completed nothing for a part of the window'],
      [() => undefined, 'too-short: it completed no batch of its size during the window'],
      [other('loading'), 'restarted: it is loading'],
      [other('running'), 'restarted: it was restarted during the window'],
    ] as const) {
      expect(await told(during)).toBe(said)
    }
  })
})
