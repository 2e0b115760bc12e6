import {
  bestPowerSource,
  capPhases,
  type PowerMetrics,
  type PowerSource,
  powerMetrics,
  START_UP_TOLERANCE,
} from '../evaluate/index.js'
import type { NetworkLatency, RunRecord, ServedRequests } from '../record/run-record.js'
import type { Spread } from './spread.js'
import { capVerdict, type Verdict, verdict } from './verdict.js'

/** Figures of one run in tables, charts and JSON reports. */
export interface RunSummary {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  /** Set of tasks that the task belongs to, if there are several. */
  readonly set?: string
  /** The power cap, W; `dynamic` if it changed during the run. */
  readonly capW: number | 'dynamic'
  readonly lowestCapW: number
  readonly durationMs: number
  /** Samples/s over the whole run, restarts included. */
  readonly throughput: number
  /** Spread of `throughput`, if several runs are combined. */
  readonly throughputSpread?: Spread
  /** Name of the individual board, where runs of several are compared. */
  readonly instance?: string
  /** Number of runs that are combined. */
  readonly runs?: number
  /** Throughput in the steady state, samples/s, see `steadyThroughput()`; null if no window qualifies. */
  readonly steadyThroughput: number | null
  /** Whether the power figures are the simulator's truth or the sensor's readings. */
  readonly powerSource: PowerSource
  readonly meanPowerW: number | null
  /** Highest one-second average, W. */
  readonly peakPowerW: number | null
  /** Share of the steady state with the 1 s average more than 1 % above the cap, percent. */
  readonly timeAboveCapPercent: number | null
  /** Mean power * duration / samples, J; null if no sample was completed or no power is known. */
  readonly energyPerSampleJ: number | null
  /** By network, with its objective if there is one; absent if it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Outcome of requests, without the data of each second. */
  readonly requests?: Omit<ServedRequests, 'perSecond'>
  /** Verdict on the steady state. */
  readonly verdict: Verdict
  /**
   * Verdict on the first ten seconds after the start and each reconfiguration; absent if the run is judged as a whole.
   */
  readonly startUp?: Verdict
  readonly notes: readonly string[]
  /** All power figures behind the ones above. */
  readonly power: PowerMetrics
}

/** Windows before this one (counted from 0) are start-up, however short the run. */
const FIRST_STEADY_WINDOW = 3

/** Index of the first steady window in a run of this many windows. */
export function firstSteadyWindow(windowCount: number): number {
  return Math.max(FIRST_STEADY_WINDOW, Math.floor(windowCount / 2))
}

/**
 * Summarise a run, by true power if it is known, else by the sensor.
 *
 * @throws InvalidInputError for a malformed power series
 */
export function summarizeRun(run: RunRecord): RunSummary {
  const source = bestPowerSource(run.power)
  const power = powerMetrics(run.power, source)
  const { startUp, steady } = capPhases(run.power, source, run.restartsMs)
  const fraction = steady.violationFraction.oneSecond
  const seconds = run.durationMs / 1000
  const { board, algorithm, taskId, model, dataset, set, instance, latency, requests, notes } = run
  const whole = {
    throughput: seconds > 0 ? run.samples / seconds : 0,
    meanPowerW: power.meanPowerW,
    energyPerSampleJ:
      power.meanPowerW === null || run.samples === 0 ? null : (power.meanPowerW * seconds) / run.samples,
  }
  return {
    board,
    algorithm,
    taskId,
    model,
    dataset,
    ...(set === undefined ? {} : { set }),
    ...(instance === undefined ? {} : { instance }),
    capW: capOf(run.power.powerCapW),
    lowestCapW: run.power.powerCapW.reduce((a, b) => Math.min(a, b)),
    durationMs: run.durationMs,
    ...(requests ? ofRequests(requests) : whole),
    steadyThroughput: steadyThroughput(run.windows),
    powerSource: source,
    peakPowerW: power.peakPowerW,
    timeAboveCapPercent: fraction === null ? null : 100 * fraction,
    ...(latency ? { latency } : {}),
    verdict: verdict(steady, latency, requests?.services),
    ...(startUp && startUp.violationFraction.oneSecond !== null
      ? { startUp: capVerdict(startUp, START_UP_TOLERANCE) }
      : {}),
    notes,
    power,
  }
}

/** Requests of services count from when their tenants have started. */
function ofRequests({ perSecond: _, ...requests }: ServedRequests) {
  const { services, meanPowerW, energyPerRequestJ } = requests
  return {
    throughput: services.reduce((sum, { goodputPerS }) => sum + goodputPerS, 0),
    meanPowerW,
    energyPerSampleJ: energyPerRequestJ,
    requests,
  }
}

/** Whether the aim is less energy per request instead of more throughput, because requests arrive by themselves. */
export function savesEnergy({ requests }: Pick<RunSummary, 'requests'>): boolean {
  return requests !== undefined && requests.maxLoad === undefined
}

/**
 * Figure by which runs of one task are ranked, higher is better: samples/s; requests/J for requests; the load factor
 * where the highest load is sought.
 */
export function merit(run: RunSummary): number {
  if (run.requests?.maxLoad !== undefined) return run.requests.maxLoad
  return savesEnergy(run) ? 1 / (run.energyPerSampleJ ?? Number.POSITIVE_INFINITY) : run.throughput
}

/** Runs with the same key belong to one task. */
export function taskKey({ board, set, taskId }: Pick<RunSummary, 'board' | 'set' | 'taskId'>): string {
  return JSON.stringify([board, set ?? null, taskId])
}

/**
 * Mean throughput of the second half of the windows, from the fourth window at the earliest, as in PctoDL's Python
 * code's final figure; without windows in which tenants restarted; weighted by window length. Samples/s; null if no
 * window is left.
 */
export function steadyThroughput(windows: RunRecord['windows']): number | null {
  const first = firstSteadyWindow(windows.length)
  let samples = 0
  let totalMs = 0
  for (const window of windows.slice(first)) {
    if (window.reconfigured) continue
    const spanMs = window.endMs - window.startMs
    samples += window.throughput * spanMs
    totalMs += spanMs
  }
  return totalMs > 0 ? samples / totalMs : null
}

function capOf(capsW: readonly number[]): number | 'dynamic' {
  const first = capsW[0]!
  return capsW.every((capW) => capW === first) ? first : 'dynamic'
}
