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
}

interface Batches {
  readonly bySize: Map<number, { count: number; ns: number }>
  requests: number
  computeUs: number
}

const LOOK_MS = 10

/**
 * A simulated board that serves models as Triton would, and what Triton would export of them: sums weighted by request, statistics by
 * batch size in which times include the wait for co-located models, `pending` without what runs.
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
      loads.map(({ service, arrivals }) => ({ service, arrivals: arrivals(), maxQueued: 100_000 })),
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
    this.counters().forEach(({ completed, failed, queued }, i) => {
      const { requests, computeUs } = this.batches[i]!
      const waitUs = 1000 * this.#waitMs[i]!
      const labels = `model="${this.loads[i]!.service.name}",version="1"`
      const line = (name: string, value: number, more = '') =>
        lines.push(`nv_inference_${name}{${labels}${more}} ${value}`)
      line('request_success', completed)
      line('request_failure', failed, ',reason="OTHER"')
      line('count', requests)
      line('pending_request_count', queued)
      line('request_duration_us', Math.round(waitUs + computeUs))
      line('queue_duration_us', Math.round(waitUs))
      line('compute_infer_duration_us', Math.round(computeUs))
    })
    return `${lines.join('\n')}\n`
  }

  stats(index: number): unknown {
    const batchStats = [...this.batches[index]!.bySize].map(([size, time]) => ({
      batch_size: size,
      compute_infer: time,
    }))
    return { model_stats: [{ name: this.loads[index]!.service.name, version: '1', batch_stats: batchStats }] }
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

/** The engine adds to a process's sums as each batch ends: those are split by its size. */
function countBatches(process: SimulatedProcess): Batches {
  const batches: Batches = { bySize: new Map(), requests: 0, computeUs: 0 }
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
      batches.requests += count
      batches.computeUs += 1000 * count * ms
    },
  })
  return batches
}
