import { mkdirSync } from 'node:fs'
import path from 'node:path'
import {
  anySignal,
  assertTenants,
  type Clock,
  InvalidInputError,
  PctodlError,
  reasonOf,
  systemClock,
  type Tenant,
  type TenantCounters,
  type TenantPool,
  type TenantProcess,
} from '@pctodl/platform'
import { monotonicMs } from '../protocol/monotonic.js'
import { ServingInstance } from '../requests/serving-instance.js'
import { allOrFirstError } from './all-or-first-error.js'
import { type MeasuredWindow, measureWindow } from './common-window.js'
import type { EndedWorker } from './ended-worker.js'
import type { InferencePoolOptions, PoolEvent } from './inference-pool-options.js'
import { planChanges } from './plan-changes.js'
import { WorkerProcess } from './worker-process.js'

/** Interval between checks of the workers, ms. */
const WATCH_MS = 100
const LONGEST_BACK_OFF_MS = 30_000
/**
 * A worker that has run for this time counts as healthy, ms. If it dies later, the back-off starts again from its first
 * value.
 */
const HEALTHY_MS = 30_000

interface Slot {
  worker: WorkerProcess
  deaths: number
  startedMs: number
  restart: NodeJS.Timeout | undefined
}

/** Runs inference processes on this machine. It has the same interface as `SimulatedTenants` of `@pctodl/gpu-sim`. */
export class InferencePool implements TenantPool {
  readonly #options: InferencePoolOptions
  readonly #clock: Clock
  readonly #ended: EndedWorker[] = []
  readonly #living = new Set<WorkerProcess>()
  /** For each worker that answers requests, its instance at the request desk. */
  readonly #instances = new WeakMap<WorkerProcess, ServingInstance>()
  /** Workers whose stall has been reported. */
  readonly #stalled = new WeakSet<WorkerProcess>()
  #slots: Slot[] = []
  #nextId = 1
  #watch: NodeJS.Timeout | undefined
  #lookedMs = 0
  /** Makes changes run one after another. Two changes at the same time would not know of each other's processes. */
  #changes: Promise<void> = Promise.resolve()
  /** Aborts a change in progress when the pool is stopped. */
  #stopping = new AbortController()

  constructor(options: InferencePoolOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    if (options.logFolder !== undefined) mkdirSync(options.logFolder, { recursive: true })
  }

  /**
   * Starts, keeps and ends processes so that the given tenants run.
   *
   * @throws InvalidInputError for tenants that no board could run
   * @throws PctodlError `STOPPED` if the pool was stopped in the meantime; the signal's reason if the signal was
   *   aborted
   */
  apply(tenants: readonly Tenant[], { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    assertTenants(tenants, { oversubscribe: this.#options.oversubscribe ?? false })
    this.#assertServes(tenants)
    const stopped = this.#stopping.signal
    const interrupted = signal ? anySignal([signal, stopped]) : stopped
    return this.#inTurn(() => this.#apply(tenants, interrupted))
  }

  counters(): readonly TenantCounters[] {
    return this.#slots.map(({ worker }) => worker.counters)
  }

  /** Processes that have ended, in the order in which they ended. */
  ended(): readonly EndedWorker[] {
    return this.#ended
  }

  /** Runtime and device of each tenant, as reported by its worker. */
  descriptions(): readonly string[] {
    return this.#slots.map(({ worker }) => worker.description)
  }

  /** Process and device of each tenant, in the tenants' order. */
  processes(): readonly TenantProcess[] {
    return this.#slots.map(({ worker: { pid, device } }) => ({ pid, device }))
  }

  /** Process ids, in the tenants' order. */
  pids(): readonly number[] {
    return this.#slots.map(({ worker }) => worker.pid)
  }

  /** Measures all tenants over one common window. */
  measure(durationMs: number, options: { readonly signal?: AbortSignal } = {}): Promise<MeasuredWindow> {
    const workers = () => this.#slots.map(({ worker }) => worker)
    return measureWindow(workers, this.#clock, durationMs, options.signal)
  }

  stop(): Promise<void> {
    this.#stopping.abort(new PctodlError('STOPPED', 'the pool was stopped'))
    this.#stopping = new AbortController()
    return this.#inTurn(async () => {
      for (const slot of this.#slots) clearTimeout(slot.restart)
      this.#slots = []
      await Promise.all([...this.#living].map((worker) => this.#end(worker)))
      clearInterval(this.#watch)
      this.#watch = undefined
    })
  }

  #assertServes(tenants: readonly Tenant[]): void {
    const { desk } = this.#options
    if (desk) {
      desk.assertServes(tenants)
      return
    }
    const serving = tenants.findIndex(({ service }) => service !== undefined)
    if (serving < 0) return
    const expected = 'none: this pool has no desk that takes requests in (the option desk)'
    throw new InvalidInputError(`tenants[${serving}].service`, tenants[serving]!.service, expected)
  }

  #inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.#changes.then(change)
    this.#changes = changed.catch(() => {})
    return changed
  }

  async #apply(tenants: readonly Tenant[], interrupted: AbortSignal): Promise<void> {
    interrupted.throwIfAborted()
    for (const slot of this.#slots) clearTimeout(slot.restart)
    const before = this.#slots.filter(
      ({ worker }) => worker.state === 'running' && worker.stalledBecause() === undefined,
    )
    // Stalled workers are replaced like failed ones.
    const failed = this.#slots.filter((slot) => !before.includes(slot))
    await Promise.all(failed.map(({ worker }) => this.#end(worker)))
    const changes = planChanges(
      before.map(({ worker }) => worker.tenant),
      tenants,
    )
    const slots = new Map<number, Slot>()
    const put = (to: number, slot: Slot) => {
      slots.set(to, slot)
      this.#slots = [...slots].sort(([a], [b]) => a - b).map(([, each]) => each)
    }
    // Until the new worker runs, the slot still shows the worker that it replaces.
    for (const { from, to } of [...changes.kept, ...changes.shrinking, ...changes.growing]) put(to, before[from]!)
    for (const { from, to } of changes.kept) {
      const { worker } = before[from]!
      worker.become(tenants[to]!)
      this.#join(worker)
    }
    const start = async (to: number) => put(to, await this.#start(tenants[to]!, interrupted))
    const replace = async ({ from, to }: { readonly from: number; readonly to: number }) => {
      await this.#end(before[from]!.worker)
      await start(to)
    }
    this.#lookedMs = monotonicMs()
    this.#watch ??= setInterval(() => this.#look(), WATCH_MS)
    await allOrFirstError([
      ...changes.removed.map((from) => this.#end(before[from]!.worker)),
      ...changes.shrinking.map(replace),
    ])
    interrupted.throwIfAborted()
    await allOrFirstError([...changes.growing.map(replace), ...changes.added.map(start)])
    interrupted.throwIfAborted()
  }

  async #start(tenant: Tenant, interrupted: AbortSignal): Promise<Slot> {
    const worker = await this.#launch(tenant, interrupted)
    return { worker, deaths: 0, startedMs: this.#clock.now(), restart: undefined }
  }

  /**
   * Starts a process and waits until it runs, or until it has failed and ended. If there is an MPS daemon, the process
   * must also have become its client.
   */
  async #launch(tenant: Tenant, interrupted: AbortSignal): Promise<WorkerProcess> {
    const { worker: kind, images, mps, logFolder, environment = process.env, loadMs = 180_000 } = this.#options
    const launch = await kind.launch(tenant)
    const id = this.#nextId++
    const worker = new WorkerProcess({
      id,
      tenant,
      launch,
      environment: { ...environment, ...mps?.clientEnvironment(tenant.mpsPercent) },
      images: images.images,
      logFile: logFolder === undefined ? null : path.join(logFolder, `worker-${id}.jsonl`),
      clock: this.#clock,
      onClosed: (closed) => this.#onClosed(closed),
      onAnswered: (answering) => this.#instances.get(answering)?.answered(),
      onFailed: (failed, failure) => this.#lose(failed, failure),
    })
    this.#living.add(worker)
    const tooLong = setTimeout(() => worker.fail(`it did not load within ${loadMs} ms`), loadMs)
    const interrupt = () => worker.fail('it was not waited for')
    interrupted.addEventListener('abort', interrupt, { once: true })
    if (interrupted.aborted) interrupt()
    await worker.started()
    clearTimeout(tooLong)
    if (worker.state === 'running' && mps) {
      await mps.verifyClient(worker.pid).catch((error: unknown) => {
        worker.fail(reasonOf(error))
      })
    }
    interrupted.removeEventListener('abort', interrupt)
    if (worker.state === 'running') {
      this.#tell('started', worker, worker.description)
      this.#join(worker)
    } else {
      worker.kill()
      await worker.closed
    }
    return worker
  }

  /** Lets this worker receive requests if its tenant serves a service. */
  #join(worker: WorkerProcess): void {
    const { desk } = this.#options
    if (!desk || worker.tenant.service === undefined) return
    // The worker may have failed during other changes. Requests sent to it would wait forever.
    if (worker.state !== 'running') return
    const instance = this.#instances.get(worker) ?? new ServingInstance(worker)
    this.#instances.set(worker, instance)
    desk.join(instance)
  }

  /** Passes the unanswered requests of a lost worker on to other instances. */
  #lose(worker: WorkerProcess, reason: string): void {
    const instance = this.#instances.get(worker)
    if (instance) this.#options.desk?.lost(instance, reason)
    this.#instances.delete(worker)
  }

  async #end(worker: WorkerProcess): Promise<void> {
    if (!this.#living.has(worker)) return
    const instance = this.#instances.get(worker)
    if (instance) this.#options.desk?.leave(instance)
    // A failed worker executes no commands, so it is killed instead of drained.
    if (worker.state === 'failed') worker.kill()
    await worker.drain(this.#options.drainMs ?? 10_000)
  }

  #look(): void {
    const nowMs = monotonicMs()
    const lateMs = nowMs - this.#lookedMs - WATCH_MS
    this.#lookedMs = nowMs
    // This process itself was delayed and has messages that it has not read yet. So a missing heartbeat does not show
    // that a worker hangs.
    if (lateMs > WATCH_MS) return
    for (const worker of this.#living) {
      const reason = worker.hungBecause()
      if (reason !== undefined) worker.fail(reason)
      const stalled = worker.stalledBecause()
      if (stalled === undefined) this.#stalled.delete(worker)
      else if (!this.#stalled.has(worker)) {
        this.#stalled.add(worker)
        this.#tell('stalled', worker, stalled)
        // A stalled worker that answers requests is ended at once, so that its requests need not wait for the next
        // `apply`.
        if (this.#instances.has(worker)) worker.fail(stalled)
      }
    }
  }

  #onClosed(worker: WorkerProcess): void {
    this.#living.delete(worker)
    this.#lose(worker, worker.failure ?? 'it was ended before it had answered')
    const { id, pid, logFile, counters, failure } = worker
    this.#ended.push({ id, pid, logFile, counters, failure })
    this.#tell(failure === undefined ? 'ended' : 'failed', worker, failure ?? 'drained')
    // A worker that never ran has no slot; its failure is handled by the code that started it. A worker that ran out of
    // memory is not restarted, because it would run out of memory again.
    const slot = this.#slots.find((candidate) => candidate.worker === worker)
    if (slot && !worker.draining && worker.outOfMemory === undefined) this.#scheduleRestart(slot)
  }

  #scheduleRestart(slot: Slot): void {
    const { backOffMs = 250 } = this.#options
    if (this.#clock.now() - slot.startedMs > HEALTHY_MS) slot.deaths = 0
    const waitMs = Math.min(LONGEST_BACK_OFF_MS, backOffMs * 2 ** slot.deaths)
    slot.deaths++
    this.#tell('restarting', slot.worker, `in ${waitMs} ms`)
    slot.restart = setTimeout(() => {
      const interrupted = this.#stopping.signal
      this.#inTurn(async () => {
        if (!this.#slots.includes(slot)) return
        slot.startedMs = this.#clock.now()
        slot.worker = await this.#launch(slot.worker.tenant, interrupted)
        const { state, outOfMemory } = slot.worker
        if (state === 'failed' && outOfMemory === undefined && !interrupted.aborted) this.#scheduleRestart(slot)
      }).catch((error: unknown) => this.#tell('failed', slot.worker, String(error)))
    }, waitMs)
  }

  #tell(kind: PoolEvent['kind'], { id, pid, tenant }: WorkerProcess, message: string): void {
    this.#options.onEvent?.({ kind, id, pid, tenant, message })
  }
}
