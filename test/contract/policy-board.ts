/**
 * A board reduced to what the loop tells a policy: power and speed of a configuration follow from the predictor, with errors of the
 * board's own. Minutes of a run take milliseconds, so that stories can be long.
 */
import { mean, SeededRandom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, sameProcess, smClocksAt, type Tenant } from '@pctodl/platform'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from '@pctodl/scheduler'

const LOAD_MS = 2000
const IDLE_W = 50
/** Noise of the readings, as a fraction. A sensor that shows the same watts twice stands still. */
const NOISE = 0.001

/** What the board does with a configuration, relative to the prediction. */
export interface Errors {
  readonly power?: (configuration: Configuration) => number
  readonly speed?: (configuration: Configuration) => number
}

export interface Asked {
  readonly timeMs: number
  readonly source: 'sample' | 'window' | 'idle' | 'cap'
  readonly action: Action
}

export class PolicyBoard {
  readonly asked: Asked[] = []
  readonly decided: { readonly timeMs: number; readonly kind: string; readonly reason: string }[] = []
  readonly windows: WindowObservation[] = []
  /** Times at which processes were started, ms. */
  readonly startedMs: number[] = []
  /** Refuses the SM clock, or takes it without running it. */
  refuses: boolean = false
  loses: boolean = false
  timeMs: number = 0
  tenants: readonly Tenant[] = []
  smClockMhz: number = 0
  memClockMhz: number = 0
  powerW: number = IDLE_W
  readonly #policy: PowerCapPolicy
  readonly #model: PerfModel
  readonly #errors: Errors
  #capW: number
  #lockedMhz = 0
  #limitW: number
  readonly #random = new SeededRandom(7)
  #refusedSinceMs: number | undefined
  #wantedMhz: number | undefined
  #loadedMs = 0
  #failures: readonly { readonly tenant: Tenant; readonly failure: string }[] = []
  #energyJ = 0
  #second: number[] = []
  #window: { readonly powersW: number[]; samples: number; reloaded: boolean } = {
    powersW: [],
    samples: 0,
    reloaded: true,
  }

  constructor(policy: PowerCapPolicy, model: PerfModel, capW: number, errors: Errors = {}) {
    this.#policy = policy
    this.#model = model
    this.#capW = capW
    this.#errors = errors
    this.#limitW = model.spec.powerLimitW.default
    this.#carryOut('sample', policy.start(capW))
  }

  get loading(): boolean {
    return this.timeMs < this.#loadedMs
  }

  get configuration(): Configuration {
    return { tenants: this.tenants, smClockMhz: this.smClockMhz, memClockMhz: this.memClockMhz }
  }

  /** Samples/s of the present configuration, if its tenants run. */
  get throughput(): number {
    const speed = this.#errors.speed?.(this.configuration) ?? 1
    return this.tenants.length === 0 ? 0 : speed * this.#model.predict(this.configuration).throughput
  }

  /** Mean latencies of the tenants' batches, ms. */
  get latenciesMs(): readonly number[] {
    const speed = this.#errors.speed?.(this.configuration) ?? 1
    return this.#predicted.map(({ latencyMs }) => latencyMs / speed)
  }

  get #predicted() {
    return this.tenants.length === 0 ? [] : this.#model.predict(this.configuration).tenants
  }

  /** What was asked for since a time, by what it asks for. */
  changes(fromMs: number, what: keyof Action): Asked[] {
    return this.asked.filter(({ timeMs, action }) => timeMs >= fromMs && action[what] !== undefined)
  }

  kill(index: number, failure = 'was killed'): this {
    this.#failures = [...this.#failures, { tenant: this.tenants[index]!, failure }]
    return this
  }

  cap(capW: number): this {
    this.#capW = capW
    this.#carryOut('cap', this.#policy.onCapChange(capW, this.#applied))
    return this
  }

  run(seconds: number): this {
    for (let sample = 0; sample < 10 * seconds; sample++) this.#sample()
    return this
  }

  get #applied() {
    return {
      tenants: this.tenants,
      smClockMhz: this.#lockedMhz,
      memClockMhz: this.memClockMhz,
      powerLimitW: this.#limitW,
    }
  }

  #sample(): void {
    this.timeMs += 100
    const loading = this.loading
    const running = this.tenants.filter((tenant) => !this.#failures.some((failed) => failed.tenant === tenant))
    if (!this.refuses && this.#wantedMhz !== undefined) this.#lock(this.#wantedMhz)
    if (!this.loses) this.smClockMhz = this.#lockedMhz
    const runs = { ...this.configuration, tenants: running }
    const works = !loading && running.length > 0
    const predicted = works ? this.#model.predict(runs) : undefined
    this.powerW = predicted ? (this.#errors.power?.(runs) ?? 1) * predicted.powerW : IDLE_W
    this.#energyJ += this.powerW / 10
    this.#second = [...this.#second.slice(-9), this.powerW]
    this.#window.powersW.push(this.powerW)
    this.#window.reloaded ||= loading
    if (predicted) this.#window.samples += 0.1 * (this.#errors.speed?.(runs) ?? 1) * predicted.throughput
    const sample: SampleObservation = {
      timeMs: this.timeMs,
      telemetry: {
        timeMs: this.timeMs,
        powerAverageW: mean(this.#second) * (1 + NOISE * this.#random.normal()),
        powerInstantW: null,
        energyJ: this.#energyJ,
        smClockMhz: this.smClockMhz,
        memClockMhz: this.memClockMhz,
        smUtilPercent: 90,
        memUtilPercent: 50,
        temperatureC: 60,
        memoryUsedBytes: 1e9,
        clocksEventReasons: [],
      },
      powerCapW: this.#capW,
      applied: this.#applied,
      reconfiguring: loading,
      smClockRefusedMs: this.#refusedSinceMs === undefined ? 0 : this.timeMs - this.#refusedSinceMs,
      failures: this.#failures,
      activeShare: running.length === 0 ? null : 1,
      stallNoticeMs: 300,
    }
    if (this.timeMs % 5000 === 0) this.#closeWindow()
    this.#carryOut('sample', this.#policy.onSample(sample))
    if (this.#policy.onIdle) this.#carryOut('idle', this.#policy.onIdle(this.timeMs, this.#applied))
  }

  #closeWindow(): void {
    const { powersW, samples, reloaded } = this.#window
    const tenants = this.#predicted
    const speed = this.#errors.speed?.(this.configuration) ?? 1
    const latenciesMs = this.latenciesMs
    const window: WindowObservation = {
      iteration: this.timeMs / 5000,
      startMs: this.timeMs - 5000,
      endMs: this.timeMs,
      powerCapW: this.#capW,
      powerAverageW: mean(powersW),
      powerMaxW: Math.max(...powersW),
      smClockMhz: this.smClockMhz,
      memClockMhz: this.memClockMhz,
      smUtilPercent: 90,
      memUtilPercent: 50,
      throughput: samples / 5,
      samples,
      tenants: this.tenants.map((tenant, i) => ({
        tenant,
        throughput: speed * tenants[i]!.throughput,
        latencyMs: latenciesMs[i]!,
        failure: this.#failures.find((failed) => failed.tenant === tenant)?.failure ?? null,
      })),
      applied: this.#applied,
      reconfigured: reloaded,
    }
    this.windows.push(window)
    this.#window = { powersW: [], samples: 0, reloaded: this.loading }
    this.#carryOut('window', this.#policy.onWindow(window))
  }

  #lock(clockMhz: number): void {
    if (!smClocksAt(this.#model.spec, this.memClockMhz)!.includes(clockMhz))
      throw new Error(`no clock of ${clockMhz} MHz`)
    this.#lockedMhz = clockMhz
    this.#wantedMhz = undefined
    this.#refusedSinceMs = undefined
  }

  #carryOut(source: Asked['source'], action: Action | undefined): void {
    for (const decision of this.#policy.takeDecisions?.() ?? []) this.decided.push({ ...decision, timeMs: this.timeMs })
    if (action === undefined) return
    const { tenants, smClockMhz, memClockMhz, powerLimitW } = action
    if (tenants ?? smClockMhz ?? memClockMhz ?? powerLimitW) this.asked.push({ timeMs: this.timeMs, source, action })
    if (memClockMhz !== undefined) this.memClockMhz = memClockMhz as number
    if (powerLimitW !== undefined) this.#limitW = powerLimitW
    if (smClockMhz !== undefined) {
      this.#wantedMhz = smClockMhz as number
      if (smClockMhz === this.#lockedMhz || !this.refuses) this.#lock(smClockMhz as number)
      else this.#refusedSinceMs ??= this.timeMs
    }
    if (tenants === undefined) return
    // Each running process serves one tenant of its kind.
    const left = this.tenants.filter((tenant) => !this.#failures.some((failed) => failed.tenant === tenant))
    const finds = (tenant: Tenant) => {
      const index = left.findIndex((other) => sameProcess(other, tenant))
      if (index >= 0) left.splice(index, 1)
      return index >= 0
    }
    if (tenants.filter((tenant) => !finds(tenant)).length > 0) {
      this.#loadedMs = this.timeMs + LOAD_MS
      this.startedMs.push(this.timeMs)
    }
    this.tenants = tenants
    this.#failures = []
  }
}
