import type { LayerGraph } from '@pctodl/model-zoo'
import type { GpuSpec, Tenant } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import { type Execution, elementBytes } from './execution.js'
import { type Networks, type NetworkWork, networksOf, networkWork } from './network-work.js'
import { TICK_MS } from './power-sensor.js'
import type { ServingEngine } from './serving/serving-engine.js'
import { type FailureKind, SimulatedProcess } from './simulated-process.js'
import { idleState, type SteadyState, SteadyStateSolver, scaledState } from './steady-state.js'

/** The part of a board that processes share: the whole board, or one MIG instance. */
export class GpuPartition {
  readonly spec: GpuSpec
  readonly processes: SimulatedProcess[] = []
  readonly #physics: BoardPhysics
  #execution: Execution
  #networks: Networks
  readonly #reservedBytes: number
  #solver: SteadyStateSolver
  /** Whether processes share the partition through MPS or time-slice it. */
  mps: 'running' | 'off'
  #running: readonly SimulatedProcess[] = []
  /** Mean state over the last tick, if processes run step by step. */
  #mean: SteadyState | null = null
  #serving: ServingEngine | null = null
  readonly #settled = new Map<number, SteadyState>()
  readonly #hung = new Map<object, SimulatedProcess>()

  /** @param share fraction of the board's memory that belongs to the partition, 0..1 */
  constructor(spec: GpuSpec, physics: BoardPhysics, execution: Execution, share = 1) {
    this.spec = spec
    this.#physics = physics
    this.#execution = execution
    this.#networks = networksOf(execution.networks)
    this.#reservedBytes = physics.process.reservedBytes * share
    this.#solver = new SteadyStateSolver(spec, physics, execution)
    this.mps = execution.mps ?? 'running'
  }

  get running(): boolean {
    return this.#running.length > 0
  }

  /** Sets whether processes of this partition share it through MPS or time-slice it, from now on. */
  shareThrough(mps: 'running' | 'off'): void {
    this.mps = mps
    this.#solver = new SteadyStateSolver(this.spec, this.#physics, { ...this.#execution, mps })
    this.#serving?.setSolver(this.#solver)
    this.refresh()
  }

  /** From now on, processes run batches of requests. `settledAt` then returns the mean of the last tick. */
  serveWith(serving: ServingEngine): void {
    this.#serving = serving
    serving.setSolver(this.#solver)
    this.refresh()
  }

  /** @throws UnknownNameError for an unknown network */
  network(model: string): NetworkWork {
    return networkWork(model, this.#networks)
  }

  /** Adds a network that processes launched from now on may run. */
  addNetwork(graph: LayerGraph): void {
    const networks = [...(this.#execution.networks ?? []), graph]
    this.#networks = networksOf(networks)
    this.#execution = { ...this.#execution, networks }
    this.shareThrough(this.mps)
  }

  /** Lets a waiting process run one batch, optionally of another size. */
  begin(process: SimulatedProcess, atMs: number, batchSize?: number): void {
    if (batchSize !== undefined) {
      process.requestBatchSize(batchSize)
      if (process.wantsBatchSize) process.adoptBatchSize(this.#availableTo(process))
    }
    process.begin(atMs)
    this.refresh()
  }

  launch(id: number, tenant: Tenant, nowMs: number, loadFactor: number, stepwise = false): SimulatedProcess {
    const bytes = elementBytes(this.#execution)
    const network = this.network(tenant.model)
    const process = new SimulatedProcess(id, tenant, network, this.#physics.process, nowMs, bytes, loadFactor, stepwise)
    this.processes.push(process)
    return process
  }

  terminate(process: SimulatedProcess): void {
    const index = this.processes.indexOf(process)
    if (index >= 0) this.processes.splice(index, 1)
    this.refresh()
  }

  fail(process: SimulatedProcess, failure: string, kind: FailureKind): void {
    if (process.state !== 'failed') process.fail(failure, kind)
    this.refresh()
  }

  failAll(failure: string, kind: FailureKind): void {
    for (const process of this.processes) this.fail(process, failure, kind)
  }

  /**
   * Stops a process from computing until `resume`.
   *
   * @param cause key that `resume` needs to find the process
   */
  hang(process: SimulatedProcess, cause: object): void {
    process.hung = true
    this.#hung.set(cause, process)
    this.refresh()
  }

  resume(cause: object): void {
    const process = this.#hung.get(cause)
    if (!process) return
    process.hung = false
    this.refresh()
  }

  memoryUsedBytes(): number {
    return this.processes.reduce((sum, process) => sum + process.memoryBytes, this.#reservedBytes)
  }

  /**
   * Runs batches for one tick.
   *
   * @param slowdown factor by which other MIG instances of the board slow this one
   */
  run(nowMs: number, smClockMhz: number, memClockMhz: number, slowdown = 1): void {
    let changed = false
    for (const process of this.processes) {
      if (process.state === 'loading' && nowMs >= process.readyAtMs) {
        process.start(nowMs, this.#availableTo(process))
        changed = true
      }
    }
    if (this.#serving) {
      for (const process of this.#running) {
        if (!process.wantsBatchSize || this.#serving.busy(process)) continue
        process.adoptBatchSize(this.#availableTo(process))
        changed = true
      }
    }
    if (changed) this.refresh()
    if (this.#serving) {
      this.#serving.advance(nowMs, smClockMhz, memClockMhz, slowdown)
      return
    }
    const stepwise = this.processes.some((process) => process.stepwise)
    this.#mean = stepwise ? idleState : null
    if (this.#running.length === 0) return
    const state = this.#solved(smClockMhz, memClockMhz)
    const { tenants } = state
    changed = false
    for (let i = 0; i < this.#running.length; i++) {
      const process = this.#running[i]!
      const adopts = process.run(nowMs, TICK_MS, slowdown * tenants[i]!.batchMs)
      if (adopts) process.adoptBatchSize(this.#availableTo(process))
      if (adopts || process.waiting) changed = true
    }
    if (stepwise) {
      const ran = this.#running.reduce((sum, process) => sum + process.ranMs, 0)
      this.#mean = scaledState(state, ran / (TICK_MS * this.#running.length))
    }
    if (changed) this.refresh()
  }

  /** Updates the running processes. Must be called when a process has started, ended, failed or stopped computing. */
  refresh(): void {
    this.#running = this.processes.filter((process) => process.state === 'running' && !process.hung && !process.waiting)
    this.#settled.clear()
    this.#serving?.setProcesses(this.processes.filter((process) => process.state === 'running'))
  }

  settledAt(smClockMhz: number, memClockMhz: number): SteadyState {
    if (this.#serving) return this.#serving.mean
    return this.#mean ?? this.#solved(smClockMhz, memClockMhz)
  }

  #solved(smClockMhz: number, memClockMhz: number): SteadyState {
    const key = memClockMhz * 65536 + smClockMhz
    let state = this.#settled.get(key)
    if (!state) {
      const tenants = this.#running.map((process) => process.tenant)
      state = this.#solver.solve({ tenants, smClockMhz, memClockMhz })
      this.#settled.set(key, state)
    }
    return state
  }

  #availableTo(process: SimulatedProcess): number {
    return this.spec.memoryBytes - (this.memoryUsedBytes() - process.memoryBytes)
  }
}
