import type { Tenant, TenantCounters, TenantState } from '@pctodl/platform'
import type { ProcessPhysics } from './board-physics.js'
import type { NetworkWork } from './network-work.js'
import { loadedBytes, runningBytes } from './process-memory.js'

/** Why a process failed. */
export type FailureKind = 'out-of-memory' | 'killed' | 'fatal-fault' | 'mps-lost' | 'gpu-lost'

/**
 * One inference process on a simulated board. It loads, then completes batch after batch, or fails for lack of memory.
 */
export class SimulatedProcess {
  readonly id: number
  readonly readyAtMs: number
  state: TenantState = 'loading'
  failure: string | undefined
  failureKind: FailureKind | undefined
  /** Whether the process is alive but completes no batches. */
  hung = false
  samples = 0
  batches = 0
  latencySumMs = 0
  lastCompletionMs: number
  lastBatchSize = 0
  readonly #physics: ProcessPhysics
  readonly #network: NetworkWork
  readonly #elementBytes: number
  #tenant: Tenant
  #requestedBatchSize: number
  /** Completed fraction of the batch in flight, 0..1. */
  #progress = 0
  /** Time spent on the batch in flight, ms. */
  #inFlightMs = 0
  readonly stepwise: boolean
  /** Time at which a stepwise process begins its next batch, ms; null until `begin` sets it. */
  #beginsAtMs: number | null = null
  /**
   * Time for which the process ran in its last tick, ms. It is more than a tick if a step began in the tick before.
   */
  ranMs = 0

  /**
   * @param network the network that the tenant's `model` names
   * @param elementBytes bytes per element of weights and activations
   * @param loadFactor factor on the usual load time
   * @param stepwise whether the process runs a batch only after a call of `begin`
   */
  constructor(
    id: number,
    tenant: Tenant,
    network: NetworkWork,
    physics: ProcessPhysics,
    nowMs: number,
    elementBytes: number,
    loadFactor: number,
    stepwise = false,
  ) {
    this.id = id
    this.stepwise = stepwise
    this.#tenant = tenant
    this.#requestedBatchSize = tenant.batchSize
    this.#physics = physics
    this.#network = network
    this.#elementBytes = elementBytes
    const weightBytes = loadedBytes(physics, network, elementBytes) - physics.contextBytes
    this.readyAtMs = nowMs + loadFactor * (physics.startMs + weightBytes / (physics.loadGBs * 1e6))
    this.lastCompletionMs = this.readyAtMs
  }

  get counters(): TenantCounters {
    return {
      id: this.id,
      tenant: this.tenant,
      state: this.state,
      failure: this.failure,
      samples: this.samples,
      batches: this.batches,
      latencySumMs: this.latencySumMs,
      lastCompletionMs: this.lastCompletionMs,
      lastBatchSize: this.lastBatchSize,
    }
  }

  /** The tenant, with the batch size of the batch in flight. */
  get tenant(): Tenant {
    return this.#tenant
  }

  /** GPU memory that the process holds, bytes. */
  get memoryBytes(): number {
    if (this.state === 'failed') return 0
    return this.state === 'loading'
      ? loadedBytes(this.#physics, this.#network, this.#elementBytes)
      : runningBytes(this.#physics, this.#network, this.#tenant.batchSize, this.#elementBytes)
  }

  start(nowMs: number, availableBytes: number): void {
    this.state = 'running'
    this.lastCompletionMs = nowMs
    this.#tenant = { ...this.#tenant, batchSize: this.#requestedBatchSize }
    this.#failIfTooLarge(availableBytes)
  }

  fail(failure: string, kind: FailureKind): void {
    this.state = 'failed'
    this.failure = failure
    this.failureKind = kind
  }

  requestBatchSize(batchSize: number): void {
    this.#requestedBatchSize = batchSize
  }

  /** Whether this is a stepwise process between two steps. */
  get waiting(): boolean {
    return this.stepwise && this.#beginsAtMs === null
  }

  /** Runs one batch that starts at the given time. For stepwise processes. */
  begin(atMs: number): void {
    this.#beginsAtMs = atMs
  }

  /** Whether a requested batch size has not taken effect yet. */
  get wantsBatchSize(): boolean {
    return this.state === 'running' && this.#requestedBatchSize !== this.#tenant.batchSize
  }

  /** Answers the requests of another service, or of none, from now on. */
  serve(service: string | undefined): void {
    const { service: _, ...tenant } = this.#tenant
    this.#tenant = service === undefined ? tenant : { ...tenant, service }
  }

  /**
   * Runs for one tick.
   *
   * @returns whether a requested batch size can be adopted because a batch has just ended
   */
  run(nowMs: number, tickMs: number, batchMs: number): boolean {
    // The step begins within this tick, or within the previous tick if its request came after that tick was computed.
    const runMs = this.stepwise && this.#progress === 0 ? Math.max(0, nowMs - this.#beginsAtMs!) : tickMs
    this.ranMs = runMs
    this.#progress += runMs / batchMs
    this.#inFlightMs += runMs
    if (this.#progress < 1) return false
    const completed = this.stepwise ? 1 : Math.floor(this.#progress)
    const leftMs = (this.#progress - completed) * batchMs
    this.batches += completed
    this.samples += completed * this.#tenant.batchSize
    // The latency of the first batch includes its time in earlier ticks; the other batches fit into this tick.
    this.latencySumMs += this.#inFlightMs - leftMs
    this.lastCompletionMs = nowMs - leftMs
    this.lastBatchSize = this.#tenant.batchSize
    if (this.stepwise) {
      this.ranMs -= leftMs
      this.#progress = 0
      this.#inFlightMs = 0
      this.#beginsAtMs = null
    } else {
      this.#progress -= completed
      this.#inFlightMs = leftMs
    }
    return this.#requestedBatchSize !== this.#tenant.batchSize
  }

  adoptBatchSize(availableBytes: number): void {
    this.#tenant = { ...this.#tenant, batchSize: this.#requestedBatchSize }
    this.#progress = 0
    this.#inFlightMs = 0
    this.#failIfTooLarge(availableBytes)
  }

  #failIfTooLarge(availableBytes: number): void {
    const needed = this.memoryBytes
    if (needed <= availableBytes) return
    this.fail(
      `out of memory: ${this.#tenant.model} at batch ${this.#tenant.batchSize} needs ${gibibytes(needed)} GiB, ${gibibytes(availableBytes)} GiB are free`,
      'out-of-memory',
    )
  }
}

function gibibytes(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(1)
}
