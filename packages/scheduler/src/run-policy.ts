import {
  anySignal,
  type CapSchedule,
  type Clock,
  capAt,
  type Gpu,
  InvalidInputError,
  type Telemetry,
  type TenantCounters,
  type TenantPool,
  type TenantState,
} from '@pctodl/platform'
import { Actuator } from './actuator.js'
import { CompletedSamples } from './completed-samples.js'
import { MeasuringWindow } from './measuring-window.js'
import type {
  Action,
  AppliedState,
  PowerCapPolicy,
  SampleObservation,
  TenantFailure,
  WindowObservation,
} from './policy.js'
import type { ActionSource, RunEvent, RunEventBody } from './run-event.js'
import { RunServices, type ServedOptions } from './run-services.js'
import { TenantActivity } from './tenant-activity.js'

export interface RunOptions {
  readonly gpu: Gpu
  readonly pool: TenantPool
  readonly clock: Clock
  readonly policy: PowerCapPolicy
  readonly caps: CapSchedule
  /** Number of measuring windows. */
  readonly iterations: number
  /** Length of a measuring window, ms. Default 5000. */
  readonly windowMs?: number
  /** Time between samples, ms. Default 100. */
  readonly samplePeriodMs?: number
  /**
   * Safety margin for a board sensor that reads low, percent. Every policy gets a cap that is lower by this margin, so
   * that true power stays below the cap. Without it, the cap applies to power as the board's own sensor reads it. The
   * margin costs throughput on boards whose sensor is right. Default 0.
   */
  readonly sensorTolerancePercent?: number
  /**
   * Returns the newest reading of another power meter of this board, W, or null if there is none. Policies get it in
   * addition to the board's own reading.
   */
  readonly meter?: () => number | null
  /** Services whose requests the tenants answer. If absent, every tenant runs one batch after another. */
  readonly services?: ServedOptions
  readonly signal?: AbortSignal
  /** Called with each telemetry reading of the run. */
  readonly onSample?: (timeMs: number, telemetry: Telemetry, powerCapW: number, applied: AppliedState) => void
  readonly onWindow?: (window: WindowObservation, startedAt: Date) => void
  /** Called with every observation and decision, in order. */
  readonly onEvent?: (event: RunEvent) => void
  /** Stored in the first event of the run's record. */
  readonly about?: Readonly<Record<string, unknown>>
}

/**
 * Runs a policy on a board: plans, applies the plan, then observes and adjusts. Power is sampled continuously from
 * before the first process starts until the last one has stopped, also while tenants restart. A cap change takes effect
 * at its time stamp for every policy. However the run ends, its processes are stopped and the board's settings
 * restored.
 *
 * @throws errors of the policy, the board or the pool, after everything has been released; the signal's reason if
 * aborted
 */
export async function runPolicy(options: RunOptions): Promise<void> {
  const { iterations, windowMs = 5000, samplePeriodMs = 100, sensorTolerancePercent = 0 } = options
  if (!(sensorTolerancePercent >= 0 && sensorTolerancePercent < 50)) {
    throw new InvalidInputError('sensorTolerancePercent', sensorTolerancePercent, 'a percentage from 0 to below 50')
  }
  if (!Number.isInteger(iterations) || iterations < 1) {
    throw new InvalidInputError('iterations', iterations, 'an integer of at least 1')
  }
  if (!(samplePeriodMs > 0 && windowMs >= samplePeriodMs)) {
    throw new InvalidInputError('windowMs', windowMs, `at least the sample period of ${samplePeriodMs} ms`)
  }
  options.signal?.throwIfAborted()
  if ((options.services?.steps.length ?? 1) > 1 && !options.policy.onServicesChange) {
    throw new InvalidInputError(
      'services.steps',
      options.services!.steps.length,
      `one: ${options.policy.name} knows no other`,
    )
  }
  await new Run(options, windowMs, samplePeriodMs).execute()
}

class Run {
  readonly #options: RunOptions
  readonly #windowMs: number
  readonly #samplePeriodMs: number
  readonly #completed = new CompletedSamples()
  readonly #activity = new TenantActivity()
  readonly #states = new Map<number, TenantState>()
  readonly #services: RunServices | undefined
  /** Time at which the run acquired the board, ms. */
  #startMs = Number.NaN

  constructor(options: RunOptions, windowMs: number, samplePeriodMs: number) {
    this.#options = options
    this.#windowMs = windowMs
    this.#samplePeriodMs = samplePeriodMs
    this.#services = options.services && new RunServices(options.services)
  }

  async execute(): Promise<void> {
    const { gpu, pool, clock, policy, caps } = this.#options
    const ending = new AbortController()
    const signal = this.#options.signal ? anySignal([this.#options.signal, ending.signal]) : ending.signal
    const { powerLimitW, uuid } = await gpu.info()
    const powerCapW = capAt(caps, 0)
    const first = policy.start(this.#visibleCapW(powerCapW))
    const lease = await gpu.acquire()
    const actuator = new Actuator(lease, pool, powerLimitW, signal, (event) => this.#emit(event))
    this.#startMs = clock.now()
    this.#emit({
      type: 'run-start',
      version: 1,
      policy: policy.name,
      board: gpu.spec.key,
      gpuUuid: uuid,
      startedAt: clock.date().toISOString(),
      caps,
      windowMs: this.#windowMs,
      samplePeriodMs: this.#samplePeriodMs,
      powerLimitW,
      sensorTolerancePercent: this.#options.sensorTolerancePercent ?? 0,
      ...(this.#options.about ? { about: this.#options.about } : {}),
      ...(this.#services ? { services: this.#services.present } : {}),
    })
    let end: RunEventBody = { type: 'run-end', outcome: 'failed' }
    try {
      await this.#carryOut(actuator, 'start', first)
      await this.#watch(actuator, powerCapW, signal)
      end = { type: 'run-end', outcome: 'done' }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      end = { type: 'run-end', outcome: this.#options.signal?.aborted ? 'aborted' : 'failed', message }
      throw error
    } finally {
      ending.abort(new Error('the run is over'))
      await actuator.settle()
      try {
        await pool.stop()
      } finally {
        await lease.release()
        this.#emit(end)
      }
    }
  }

  async #watch(actuator: Actuator, firstCapW: number, signal: AbortSignal): Promise<void> {
    const { gpu, pool, clock, policy, caps, iterations } = this.#options
    let powerCapW = firstCapW
    let window = new MeasuringWindow(0, pool.counters(), this.#startMs)
    let windowStartedAt = clock.date()
    let samplesTaken = 0
    for (let iteration = 1; iteration <= iterations; ) {
      samplesTaken++
      // Sampling at absolute times prevents slow readings from stretching the windows; missed samples are skipped.
      const nowMs = this.#timeMs()
      samplesTaken = Math.max(samplesTaken, Math.ceil(nowMs / this.#samplePeriodMs))
      await clock.sleep(Math.max(0, samplesTaken * this.#samplePeriodMs - nowMs), signal)
      const timeMs = this.#timeMs()
      const telemetry = await gpu.sample()
      const { reconfiguring } = actuator
      const counters = pool.counters()
      window.add(telemetry, counters, reconfiguring)
      this.#watchTenants(counters)
      const smClockRefusedMs = actuator.smClockRefusedMs(timeMs)
      this.#options.onSample?.(timeMs, telemetry, powerCapW, actuator.applied)
      const completed = this.#completed.update(counters)
      const failures = failuresOf(counters)
      const { activeShare, stallNoticeMs } = this.#activity.update(timeMs, counters)
      const meterPowerW = this.#options.meter?.() ?? null
      const services = this.#services?.readings()
      // Both objects list their fields: with spreads of objects, a simulated run takes a third longer.
      const { smClockMhz, memClockMhz, powerLimitW } = actuator.applied
      this.#options.onEvent?.({
        timeMs,
        type: 'sample',
        telemetry,
        reconfiguring,
        smClockRefusedMs,
        failures,
        activeShare,
        stallNoticeMs,
        meterPowerW,
        services,
        powerCapW,
        inForce: { smClockMhz, memClockMhz, powerLimitW },
        completed,
      })

      if (timeMs >= iteration * this.#windowMs) {
        const tenantsClosed = window.close(iteration, timeMs, powerCapW, counters, actuator.applied)
        const closed = this.#services ? { ...tenantsClosed, services: this.#services.closeWindow() } : tenantsClosed
        this.#options.onWindow?.(closed, windowStartedAt)
        this.#emit({ type: 'window', window: closed }, timeMs)
        window = new MeasuringWindow(timeMs, counters, this.#startMs)
        windowStartedAt = clock.date()
        iteration++
        await this.#carryOut(
          actuator,
          'window',
          policy.onWindow({ ...closed, powerCapW: this.#visibleCapW(powerCapW) }),
          timeMs,
        )
      }
      const capNow = capAt(caps, timeMs)
      if (capNow !== powerCapW) {
        powerCapW = capNow
        this.#emit({ type: 'cap', powerCapW }, timeMs)
        await this.#carryOut(
          actuator,
          'cap-change',
          policy.onCapChange(this.#visibleCapW(powerCapW), actuator.applied),
          timeMs,
        )
      }
      await this.#changeServices(actuator, timeMs)
      const sample: SampleObservation = {
        timeMs,
        telemetry,
        powerCapW: this.#visibleCapW(powerCapW),
        applied: actuator.applied,
        reconfiguring,
        smClockRefusedMs,
        failures,
        activeShare,
        stallNoticeMs,
        meterPowerW,
        services,
      }
      await this.#carryOut(actuator, 'sample', policy.onSample(sample), timeMs)
      if (policy.onIdle) await this.#carryOut(actuator, 'idle', policy.onIdle(timeMs, actuator.applied), timeMs)
    }
  }

  async #changeServices(actuator: Actuator, timeMs: number): Promise<void> {
    const services = this.#services
    if (!services) return
    if (services.advance(timeMs)) {
      this.#emit({ type: 'services', services: services.present }, timeMs)
      const change = this.#options.policy.onServicesChange?.(services.present, actuator.applied)
      await this.#carryOut(actuator, 'services-change', change, timeMs)
    }
    services.dismiss(actuator.applied.tenants, actuator.reconfiguring)
  }

  async #carryOut(actuator: Actuator, source: ActionSource, action: Action | undefined, timeMs = 0): Promise<void> {
    for (const decision of this.#options.policy.takeDecisions?.() ?? []) {
      this.#emit({ type: 'decision', source, decision }, timeMs)
    }
    if (action && asksForSomething(action)) this.#emit({ type: 'action', source, action }, timeMs)
    if (action?.admitted) this.#services?.admit(action.admitted)
    await actuator.apply(action, timeMs)
  }

  #watchTenants(counters: readonly TenantCounters[]): void {
    for (const { id, tenant, state, failure } of counters) {
      if (this.#states.get(id) === state) continue
      this.#states.set(id, state)
      this.#emit({ type: 'tenant', processId: id, tenant, state, ...(failure === undefined ? {} : { failure }) })
    }
  }

  /** The cap that policies see, W. */
  #visibleCapW(powerCapW: number): number {
    return visibleCapW(powerCapW, this.#options.sensorTolerancePercent)
  }

  #timeMs(): number {
    return this.#options.clock.now() - this.#startMs
  }

  #emit(event: RunEventBody, timeMs = this.#timeMs()): void {
    this.#options.onEvent?.({ timeMs, ...event })
  }
}

/** The cap that policies get: reduced by the tolerance for the sensor, W. */
export function visibleCapW(powerCapW: number, sensorTolerancePercent = 0): number {
  return powerCapW * (1 - sensorTolerancePercent / 100)
}

function failuresOf(counters: readonly TenantCounters[]): readonly TenantFailure[] {
  const failed = counters.filter(({ state }) => state === 'failed')
  return failed.map(({ tenant, failure = 'failed' }) => ({ tenant, failure }))
}

/** Whether an action contains more than a reason. */
export function asksForSomething({ tenants, smClockMhz, memClockMhz, powerLimitW, admitted }: Action): boolean {
  return [tenants, smClockMhz, memClockMhz, powerLimitW, admitted].some((asked) => asked !== undefined)
}
