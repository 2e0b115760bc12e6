import { InvalidInputError, type MeasuredWindow, sameProcess, type Tenant } from '@pctodl/platform'
import type { PowerSeries } from '../evaluate/power-signal.js'
import { meanOrNull } from '../verdict/spread.js'
import type { ChangedSettings, JudgedEvent, JudgedSample, RunStart } from './judged-event.js'
import type { RecordedWindow, RunRecord } from './run-record.js'

export type ActuationKind = 'sm-clock' | 'mem-clock' | 'power-limit' | 'repartition' | 'batch-sizes'

export interface Actuation {
  readonly timeMs: number
  readonly kind: ActuationKind
}

/** The data by which a run is evaluated. */
export interface RunRecording {
  readonly durationMs: number
  readonly power: PowerSeries
  /** Number of samples completed since the run began, at each time of `power`. */
  readonly completed: readonly number[]
  readonly actuations: readonly Actuation[]
}

/** Labels of a run in tables and charts. Labels that are absent are taken from the log. */
export interface RunLabels {
  /** Name of the algorithm. Default: the name of the policy in the log. */
  readonly algorithm?: string
  /** Number of the task; runs of the same task are compared with each other. Default 1. */
  readonly taskId?: number
  /** Networks of the run. Default: the networks of its tenants. */
  readonly model?: string
  /** Dataset. Default: `about.dataset` of the log. */
  readonly dataset?: string
}

const WINDOW_MS = 5000

const clockSettings = [
  ['smClockMhz', 'sm-clock'],
  ['memClockMhz', 'mem-clock'],
  ['powerLimitW', 'power-limit'],
] as const

/**
 * Records a run from its events, as they come: `onEvent: (event) => recorder.add(event)`. It keeps numbers instead of
 * events, so that long runs need little memory.
 */
export class RunRecorder {
  readonly #trueEnergyJ: (() => number) | undefined
  readonly #timeMs: number[] = []
  readonly #powerCapW: number[] = []
  readonly #sensorW: (number | null)[] = []
  readonly #smClockMhz: (number | null)[] = []
  readonly #trueW: number[] = []
  readonly #completed: number[] = []
  readonly #reconfiguring: boolean[] = []
  readonly #actuations: Actuation[] = []
  readonly #windows: MeasuredWindow[] = []
  readonly #failures: string[] = []
  #first: JudgedEvent | undefined
  #last: JudgedEvent | undefined
  #lastEnergyJ: number
  #inForce: ChangedSettings = {}

  /**
   * @param trueEnergyJ returns the true energy that the board has drawn so far, J, if a simulated board reports it;
   *   used only in reports
   */
  constructor(trueEnergyJ?: () => number) {
    this.#trueEnergyJ = trueEnergyJ
    this.#lastEnergyJ = trueEnergyJ?.() ?? 0
  }

  /** @throws InvalidInputError for a sample that is earlier than the one before */
  add(event: JudgedEvent): void {
    this.#first ??= event
    this.#last = event
    if (event.type === 'sample') this.#addSample(event)
    else if (event.type === 'window') this.#windows.push(event.window)
    else if (event.type === 'action' && event.action) this.#act(event.timeMs, event.action)
    else if (event.type === 'tenant' && event.failure !== undefined) {
      this.#failures.push(`a tenant failed: ${event.failure}`)
    }
  }

  recording(): RunRecording {
    return {
      durationMs: this.#timeMs.at(-1) ?? 0,
      power: this.#power,
      completed: this.#completed,
      actuations: this.#actuations,
    }
  }

  /**
   * The record of the run. Power and caps come from the samples. Throughput comes from the windows or, if there are
   * none, from the samples.
   *
   * @throws InvalidInputError if the events do not begin with `run-start`, or contain no sample
   */
  record(labels: RunLabels = {}): RunRecord {
    const start = runStartOf([this.#first])
    const durationMs = this.#timeMs.at(-1)
    if (durationMs === undefined) throw new InvalidInputError('events', 'no sample', 'at least one sample')
    const startedMs = Date.parse(start.startedAt)
    const measured = this.#windows.length > 0 ? this.#windows : this.#windowsOfSamples(start.windowMs ?? WINDOW_MS)
    const windows = measured.map((window) => ({ ...window, startedAt: new Date(startedMs + window.startMs) }))
    const { algorithm = start.policy, taskId = 1, model = modelOf(windows), dataset = datasetOf(start) } = labels
    const { trueW, ...power } = this.#power
    return {
      board: start.board,
      algorithm,
      taskId,
      model,
      dataset,
      durationMs,
      windows,
      power: { ...power, smClockMhz: this.#smClockMhz, ...(trueW ? { trueW } : {}) },
      restartsMs: this.#timeMs.filter((_, i) => i > 0 && this.#reconfiguring[i]! && !this.#reconfiguring[i - 1]!),
      samples: this.#completed.at(-1)!,
      notes: [...this.#failures, ...this.#ending],
    }
  }

  get #power(): PowerSeries {
    return {
      timeMs: this.#timeMs,
      powerCapW: this.#powerCapW,
      sensorW: this.#sensorW,
      ...(this.#trueEnergyJ ? { trueW: this.#trueW } : {}),
    }
  }

  /** A remark on how the run ended, unless it was completed. */
  get #ending(): readonly string[] {
    const end = this.#last
    if (end?.type !== 'run-end') return ['its log breaks off']
    return end.outcome === 'done' ? [] : [`${end.outcome}${end.message === undefined ? '' : `: ${end.message}`}`]
  }

  #addSample({ timeMs, powerCapW, telemetry, completed, reconfiguring = false }: JudgedSample): void {
    const beforeMs = this.#timeMs.at(-1) ?? 0
    if (timeMs < beforeMs) {
      const sample = `sample ${this.#timeMs.length + 1}: timeMs`
      throw new InvalidInputError(sample, timeMs, `at least ${beforeMs}, the one before`)
    }
    this.#timeMs.push(timeMs)
    this.#powerCapW.push(powerCapW)
    this.#sensorW.push(telemetry.powerAverageW)
    this.#smClockMhz.push(telemetry.smClockMhz ?? null)
    this.#completed.push(completed)
    this.#reconfiguring.push(reconfiguring)
    if (!this.#trueEnergyJ) return
    const energyJ = this.#trueEnergyJ()
    this.#trueW.push(((energyJ - this.#lastEnergyJ) / Math.max(1e-9, timeMs - beforeMs)) * 1000)
    this.#lastEnergyJ = energyJ
  }

  #act(timeMs: number, action: ChangedSettings): void {
    const before = this.#inForce
    for (const [setting, kind] of clockSettings) {
      if (action[setting] !== undefined && action[setting] !== before[setting]) this.#actuations.push({ timeMs, kind })
    }
    if (action.tenants) {
      const kind = needsRestart(before.tenants ?? [], action.tenants) ? 'repartition' : 'batch-sizes'
      this.#actuations.push({ timeMs, kind })
    }
    this.#inForce = { ...before, ...action }
  }

  /**
   * Makes windows from the samples of a log that has none. Each window ends with the first reading at least `windowMs`
   * after its start. A shorter rest at the end of the run is omitted.
   */
  #windowsOfSamples(windowMs: number): MeasuredWindow[] {
    const windows: MeasuredWindow[] = []
    let [startMs, completedBefore, from] = [0, 0, 0]
    this.#timeMs.forEach((endMs, i) => {
      if (endMs - startMs < windowMs) return
      const known = (values: readonly (number | null)[]) => values.slice(from, i + 1).filter((value) => value !== null)
      const powerW = known(this.#sensorW)
      const samples = this.#completed[i]! - completedBefore
      windows.push({
        iteration: windows.length + 1,
        startMs,
        endMs,
        powerCapW: this.#powerCapW[i]!,
        powerAverageW: meanOrNull(powerW),
        powerMaxW: powerW.length === 0 ? null : Math.max(...powerW),
        smClockMhz: meanOrNull(known(this.#smClockMhz)),
        memClockMhz: null,
        smUtilPercent: null,
        memUtilPercent: null,
        throughput: (samples / (endMs - startMs)) * 1000,
        samples,
        tenants: [],
        applied: { smClockMhz: null, memClockMhz: null },
        reconfigured: this.#reconfiguring.slice(from, i + 1).includes(true),
      })
      startMs = endMs
      completedBefore = this.#completed[i]!
      from = i + 1
    })
    return windows
  }
}

/** The record of a run from all its events, with the errors of `RunRecorder`. */
export function recordOfEvents(events: readonly JudgedEvent[], labels: RunLabels = {}): RunRecord {
  const recorder = new RunRecorder()
  // Actions do not enter a record, and logs of other programs may describe them in a form of their own.
  for (const event of events) if (event.type !== 'action') recorder.add(event)
  return recorder.record(labels)
}

/** @throws InvalidInputError if the events do not begin with `run-start` */
export function runStartOf([first]: readonly (JudgedEvent | undefined)[]): RunStart {
  if (first?.type !== 'run-start') throw new InvalidInputError('events[0].type', first?.type, "'run-start'")
  return first
}

function needsRestart(before: readonly Tenant[], after: readonly Tenant[]): boolean {
  const left = [...before]
  for (const tenant of after) {
    const index = left.findIndex((other) => sameProcess(other, tenant))
    if (index < 0) return true
    left.splice(index, 1)
  }
  return left.length > 0
}

function modelOf(windows: readonly RecordedWindow[]): string {
  const models = new Set(windows.flatMap(({ tenants }) => tenants.map(({ tenant }) => tenant.model)))
  return models.size === 0 ? 'unnamed network' : [...models].join('+')
}

function datasetOf({ about }: RunStart): string {
  const dataset = about?.['dataset']
  return typeof dataset === 'string' ? dataset : 'unnamed data'
}
