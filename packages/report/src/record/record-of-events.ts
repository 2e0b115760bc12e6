import { InvalidInputError, type MeasuredWindow } from '@pctodl/platform'
import { meanOrNull } from '../verdict/spread.js'
import type { JudgedEvent, JudgedSample, RunStart } from './judged-event.js'
import type { RecordedWindow, RunRecord } from './run-record.js'

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

/**
 * Builds the record of a run from its events. Power and caps come from the samples. Throughput comes from the windows
 * or, if the log has none, from the samples. Power is the sensor's, because a log contains no other.
 *
 * @param events events of one run, from its `run-start` on
 * @throws InvalidInputError if the events do not begin with `run-start`, contain no sample, or are not in order of time
 */
export function recordOfEvents(events: readonly JudgedEvent[], labels: RunLabels = {}): RunRecord {
  const start = runStartOf(events)
  const samples = events.filter((event): event is JudgedSample => event.type === 'sample')
  const last = samples.at(-1)
  if (!last) throw new InvalidInputError('events', `${events.length} of them`, 'at least one sample')
  samples.forEach(({ timeMs }, i) => {
    const before = samples[i - 1]?.timeMs ?? 0
    if (timeMs < before)
      throw new InvalidInputError(`sample ${i + 1}: timeMs`, timeMs, `at least ${before}, the one before`)
  })
  const windows = windowsOf(start, events, samples)
  const { algorithm = start.policy, taskId = 1, model = modelOf(windows), dataset = datasetOf(start) } = labels
  return {
    board: start.board,
    algorithm,
    taskId,
    model,
    dataset,
    durationMs: last.timeMs,
    windows,
    power: {
      timeMs: samples.map(({ timeMs }) => timeMs),
      powerCapW: samples.map(({ powerCapW }) => powerCapW),
      sensorW: samples.map(({ telemetry }) => telemetry.powerAverageW),
      smClockMhz: samples.map(({ telemetry }) => telemetry.smClockMhz ?? null),
    },
    restartsMs: restartsOf(samples),
    samples: last.completed,
    notes: notesOf(events),
  }
}

/** Times at which tenants were restarted, except at the start of the run, ms. */
function restartsOf(samples: readonly JudgedSample[]): number[] {
  return samples.flatMap(({ timeMs, reconfiguring }, i) =>
    reconfiguring && i > 0 && !samples[i - 1]!.reconfiguring ? [timeMs] : [],
  )
}

/** @throws InvalidInputError if the events do not begin with `run-start` */
export function runStartOf([first]: readonly JudgedEvent[]): RunStart {
  if (first?.type !== 'run-start') throw new InvalidInputError('events[0].type', first?.type, "'run-start'")
  return first
}

function windowsOf(
  start: RunStart,
  events: readonly JudgedEvent[],
  samples: readonly JudgedSample[],
): RecordedWindow[] {
  const startedMs = Date.parse(start.startedAt)
  const closed = events.flatMap((event) => (event.type === 'window' ? [event.window] : []))
  const windows = closed.length > 0 ? closed : windowsOfSamples(samples, start.windowMs ?? WINDOW_MS)
  return windows.map((window) => ({ ...window, startedAt: new Date(startedMs + window.startMs) }))
}

function modelOf(windows: readonly RecordedWindow[]): string {
  const models = new Set(windows.flatMap(({ tenants }) => tenants.map(({ tenant }) => tenant.model)))
  return models.size === 0 ? 'unnamed network' : [...models].join('+')
}

function datasetOf({ about }: RunStart): string {
  const dataset = about?.['dataset']
  return typeof dataset === 'string' ? dataset : 'unnamed data'
}

/** Returns a remark on how the run ended, unless it was completed. */
function notesOf(events: readonly JudgedEvent[]): string[] {
  const failures = events.flatMap((event) =>
    event.type === 'tenant' && event.failure !== undefined ? [`a tenant failed: ${event.failure}`] : [],
  )
  const end = events.at(-1)
  if (end?.type !== 'run-end') return [...failures, 'its log breaks off']
  if (end.outcome === 'done') return failures
  return [...failures, `${end.outcome}${end.message === undefined ? '' : `: ${end.message}`}`]
}

/**
 * Makes windows from the samples of a log that has none. Each window ends with the first reading at least `windowMs`
 * after its start. A shorter rest at the end of the run is omitted.
 */
function windowsOfSamples(samples: readonly JudgedSample[], windowMs: number): MeasuredWindow[] {
  const windows: MeasuredWindow[] = []
  let startMs = 0
  let completedBefore = 0
  let within: JudgedSample[] = []
  for (const sample of samples) {
    within.push(sample)
    const { timeMs: endMs, completed, powerCapW } = sample
    if (endMs - startMs < windowMs) continue
    const powerW = within.flatMap(({ telemetry }) => telemetry.powerAverageW ?? [])
    const clocksMhz = within.flatMap(({ telemetry }) => telemetry.smClockMhz ?? [])
    windows.push({
      iteration: windows.length + 1,
      startMs,
      endMs,
      powerCapW,
      powerAverageW: meanOrNull(powerW),
      powerMaxW: powerW.length === 0 ? null : Math.max(...powerW),
      smClockMhz: meanOrNull(clocksMhz),
      memClockMhz: null,
      smUtilPercent: null,
      memUtilPercent: null,
      throughput: ((completed - completedBefore) / (endMs - startMs)) * 1000,
      samples: completed - completedBefore,
      tenants: [],
      applied: { smClockMhz: null, memClockMhz: null },
      reconfigured: within.some(({ reconfiguring }) => reconfiguring === true),
    })
    startMs = endMs
    completedBefore = completed
    within = []
  }
  return windows
}
