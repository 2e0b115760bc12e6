import type { Tenant, TenantState } from '@pctodl/platform'
import type { ProcessPhysics } from './board-physics.js'
import { type NetworkWork, networkWork } from './network-work.js'

/** One inference process on a simulated board: loads, then completes batch after batch, or runs out of memory. */
export class SimulatedProcess {
  readonly id: number
  readonly readyAtMs: number
  state: TenantState = 'loading'
  failure: string | undefined
  samples = 0
  batches = 0
  latencySumMs = 0
  lastCompletionMs: number
  readonly #work: NetworkWork
  readonly #physics: ProcessPhysics
  #tenant: Tenant
  #requestedBatchSize: number
  /** Share of the batch in flight that is done, 0..1. */
  #progress = 0
  /** Time spent on the batch in flight, ms. */
  #inFlightMs = 0

  constructor(id: number, tenant: Tenant, physics: ProcessPhysics, nowMs: number) {
    this.id = id
    this.#tenant = tenant
    this.#requestedBatchSize = tenant.batchSize
    this.#physics = physics
    this.#work = networkWork(tenant.model)
    this.readyAtMs = nowMs + physics.startMs + this.#work.weightBytes / (physics.loadGBs * 1e6)
    this.lastCompletionMs = this.readyAtMs
  }

  /** The tenant with the batch size that is in flight now. */
  get tenant(): Tenant {
    return this.#tenant
  }

  /** GPU memory that the process holds, bytes. */
  get memoryBytes(): number {
    if (this.state === 'failed') return 0
    const { contextBytes, activationFactor } = this.#physics
    if (this.state === 'loading') return contextBytes + this.#work.weightBytes
    const activations = this.#activationBytes(this.#tenant.batchSize) * activationFactor
    return contextBytes + this.#work.weightBytes + activations
  }

  start(nowMs: number, availableBytes: number): void {
    this.state = 'running'
    this.lastCompletionMs = nowMs
    this.#tenant = { ...this.#tenant, batchSize: this.#requestedBatchSize }
    this.#failIfTooLarge(availableBytes)
  }

  requestBatchSize(batchSize: number): void {
    this.#requestedBatchSize = batchSize
  }

  /** @returns whether another batch size was asked for and a batch has just ended, so that it can be adopted */
  run(nowMs: number, tickMs: number, batchMs: number): boolean {
    this.#progress += tickMs / batchMs
    this.#inFlightMs += tickMs
    if (this.#progress < 1) return false
    const completed = Math.floor(this.#progress)
    const leftMs = (this.#progress - completed) * batchMs
    this.batches += completed
    this.samples += completed * this.#tenant.batchSize
    // The first of them carries what it had already spent at other clocks; the others fit into this tick.
    this.latencySumMs += this.#inFlightMs - leftMs
    this.lastCompletionMs = nowMs - leftMs
    this.#progress -= completed
    this.#inFlightMs = leftMs
    return this.#requestedBatchSize !== this.#tenant.batchSize
  }

  adoptBatchSize(availableBytes: number): void {
    this.#tenant = { ...this.#tenant, batchSize: this.#requestedBatchSize }
    this.#progress = 0
    this.#inFlightMs = 0
    this.#failIfTooLarge(availableBytes)
  }

  #activationBytes(batchSize: number): number {
    return this.#work.peakActivationBytesPerSample * batchSize
  }

  #failIfTooLarge(availableBytes: number): void {
    const needed = this.memoryBytes
    if (needed <= availableBytes) return
    this.state = 'failed'
    this.failure = `out of memory: ${this.#tenant.model} at batch ${this.#tenant.batchSize} needs ${gibibytes(needed)} GiB, ${gibibytes(availableBytes)} GiB are free`
  }
}

function gibibytes(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(1)
}
