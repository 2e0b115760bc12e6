import { SimulatedGpu, type SimulatedProcess, type SimulatedServices, SimulatedTenants } from '@pctodl/gpu-sim'
import type { Arrivals, Clock, GpuLease, Service, Telemetry } from '@pctodl/platform'

/** Time that only this file moves. */
export class ManualClock implements Clock {
  ms = 0
  now(): number {
    return this.ms
  }
  date(): Date {
    return new Date(this.ms)
  }
  async sleep(durationMs: number): Promise<void> {
    this.ms += durationMs
  }
}

export interface VirtualLoad {
  readonly service: Service
  readonly arrivals: () => Arrivals
  /** Items of each request. The engine serves items: those of a request arrive together. Default 1. */
  readonly items?: number
}

interface Batches {
  readonly bySize: Map<number, { count: number; ns: number }>
  /** Sum over items. */
  computeMs: number
}

const LOOK_MS = 10

/**
 * A simulated board that serves models as Triton would, and what Triton would export of them: statistics by batch size
 * in which times include the wait for co-located models, `pending` without what runs.
 */
export class VirtualServer {
  readonly clock: ManualClock = new ManualClock()
  readonly gpu: SimulatedGpu
  readonly loads: readonly VirtualLoad[]
  readonly batches: Batches[] = []
  busyMs = 0
  #served!: SimulatedServices
  readonly #waitMs: number[]
  readonly #watched: boolean
  #lease: GpuLease | undefined

  private constructor(board: string, loads: readonly VirtualLoad[], seed: number, watched: boolean) {
    this.gpu = new SimulatedGpu(board, { clock: this.clock, seed })
    this.loads = loads
    this.#waitMs = loads.map(() => 0)
    this.#watched = watched
  }

  /** @param watched whether its metrics will be asked for */
  static async start(
    board: string,
    loads: readonly VirtualLoad[],
    seed: number,
    watched = true,
  ): Promise<VirtualServer> {
    const server = new VirtualServer(board, loads, seed, watched)
    server.#served = server.gpu.serve(
      loads.map(({ service, arrivals, items = 1 }) => ({
        service,
        arrivals: together(arrivals(), items),
        maxQueued: 100_000,
      })),
      { seed, batchSpread: 0.03 },
    )
    const launch = server.gpu.launch.bind(server.gpu)
    server.gpu.launch = (tenant, options) => {
      const process = launch(tenant, options)
      server.batches.push(countBatches(process))
      return process
    }
    await new SimulatedTenants(server.gpu, { oversubscribe: true }).apply(
      loads.map(({ service }) => ({
        model: service.model,
        mpsPercent: 100,
        batchSize: service.maxBatchSize,
        service: service.name,
      })),
    )
    server.#lease = await server.gpu.acquire()
    return server
  }

  async advance(ms: number): Promise<void> {
    if (!this.#watched) {
      this.clock.ms += ms
      this.gpu.catchUp()
      return
    }
    const endMs = this.clock.ms + ms
    while (this.clock.ms < endMs) {
      this.clock.ms += LOOK_MS
      this.busyMs += (LOOK_MS * ((await this.gpu.sample()).smUtilPercent ?? 0)) / 100
      this.#served.counters().forEach(({ queued }, i) => {
        this.#waitMs[i]! += LOOK_MS * queued
      })
    }
  }

  telemetry(): Promise<Telemetry> {
    return this.gpu.sample()
  }

  counters(): ReturnType<SimulatedServices['counters']> {
    return this.#served.counters()
  }

  /** Null: what the operator has set, which is nothing. */
  async lock(smClockMhz: number | null): Promise<void> {
    if (smClockMhz === null) await this.#lease!.resetSmClock()
    else await this.#lease!.lockSmClock(smClockMhz)
  }

  metrics(): string {
    const lines: string[] = []
    this.counters().forEach(({ queued }, i) => {
      const { service, items = 1 } = this.loads[i]!
      const requests = Math.ceil(queued / items)
      lines.push(`nv_inference_pending_request_count{model="${service.name}",version="1"} ${requests}`)
    })
    return `${lines.join('\n')}\n`
  }

  stats(index: number): unknown {
    const { service, items = 1 } = this.loads[index]!
    const { completed, failed } = this.counters()[index]!
    const { bySize, computeMs } = this.batches[index]!
    const duration = (count: number, ms: number) => {
      return { count: Math.floor(count / items), ns: Math.round((1e6 * ms) / items) }
    }
    const waitMs = this.#waitMs[index]!
    const inferenceStats = {
      success: duration(completed, waitMs + computeMs),
      fail: duration(failed, 0),
      queue: duration(completed, waitMs),
    }
    const batchStats = [...bySize].map(([size, time]) => ({ batch_size: size, compute_infer: time }))
    const stats = { name: service.name, version: '1', inference_stats: inferenceStats, batch_stats: batchStats }
    return { model_stats: [stats] }
  }

  config(index: number): unknown {
    const { maxBatchSize, maxQueueDelayMs } = this.loads[index]!.service
    const batching = { max_queue_delay_microseconds: String(1000 * maxQueueDelayMs) }
    return {
      max_batch_size: maxBatchSize,
      dynamic_batching: batching,
      instance_group: [{ count: 1, kind: 'KIND_GPU' }],
    }
  }
}

/** Each arrival as many times. */
function together(arrivals: Arrivals, times: number): Arrivals {
  let left = 0
  let ms = 0
  return {
    nextMs() {
      if (left === 0) {
        left = times
        ms = arrivals.nextMs()
      }
      left--
      return ms
    },
  }
}

/** The engine adds to a process's sums as each batch ends: those are split by its size. */
function countBatches(process: SimulatedProcess): Batches {
  const batches: Batches = { bySize: new Map(), computeMs: 0 }
  let [samples, sumMs, count] = [0, 0, 0]
  Object.defineProperty(process, 'samples', {
    get: () => samples,
    set: (value: number) => {
      count = value - samples
      samples = value
    },
  })
  Object.defineProperty(process, 'latencySumMs', {
    get: () => sumMs,
    set: (value: number) => {
      const ms = value - sumMs
      sumMs = value
      if (!(count > 0)) return
      const time = batches.bySize.get(count) ?? { count: 0, ns: 0 }
      time.count++
      time.ns += Math.round(1e6 * ms)
      batches.bySize.set(count, time)
      batches.computeMs += count * ms
    },
  })
  return batches
}
