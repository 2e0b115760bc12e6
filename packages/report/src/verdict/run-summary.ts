import { given } from '@pctodl/platform'
import { capPhases, type PowerMetrics, powerMetrics } from '../evaluate/index.js'
import { START_UP_TOLERANCE } from '../evaluate/power-metrics.js'
import { bestPowerSource, type PowerSource } from '../evaluate/power-signal.js'
import type { NetworkLatency, RunRecord, ServedRequests } from '../record/run-record.js'
import type { Spread } from './spread.js'
import { capVerdict, type Verdict, verdict } from './verdict.js'

/** Figures of one run for tables, charts and JSON reports. */
export interface RunSummary {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  /** Name of the set of tasks that contains the task, if there are several sets. */
  readonly set?: string
  /** The power cap, W; `dynamic` if it changed during the run. */
  readonly capW: number | 'dynamic'
  readonly lowestCapW: number
  readonly durationMs: number
  /** Throughput over the whole run, including restarts, samples/s. */
  readonly throughput: number
  /** Spread of `throughput`, if several runs are combined. */
  readonly throughputSpread?: Spread
  /** Name of the individual board, if runs of several boards are compared. */
  readonly instance?: string
  /** Number of runs that are combined. */
  readonly runs?: number
  /** Throughput in the steady state, samples/s (see `steadyThroughput()`); null if no window belongs to it. */
  readonly steadyThroughput: number | null
  /** Whether the power figures are true power (simulated boards) or readings of the sensor. */
  readonly powerSource: PowerSource
  readonly meanPowerW: number | null
  /** Highest one-second average, W. */
  readonly peakPowerW: number | null
  /** Percentage of the steady state in which the 1 s average is more than 1 % above the cap. */
  readonly timeAboveCapPercent: number | null
  /** Energy per sample (mean power * duration / samples), J; null if no sample was completed or no power is known. */
  readonly energyPerSampleJ: number | null
  /** Batch latencies by network, with the objectives; absent if they were not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Results of requests, without the values of each second. */
  readonly requests?: Omit<ServedRequests, 'perSecond'>
  /** Verdict on the steady state. */
  readonly verdict: Verdict
  /**
   * Verdict on the ten seconds after the start and after each reconfiguration; absent if the run is judged as a whole.
   */
  readonly startUp?: Verdict
  readonly notes: readonly string[]
  /** All power figures, including those behind the fields above. */
  readonly power: PowerMetrics
}

/** The steady state begins at this window (index from 0) at the earliest. */
const FIRST_STEADY_WINDOW = 3

/** Index of the first steady window, given the number of windows of a run. */
export function firstSteadyWindow(windowCount: number): number {
  return Math.max(FIRST_STEADY_WINDOW, Math.floor(windowCount / 2))
}

/**
 * Summarizes a run by its true power if it is known, otherwise by the sensor's.
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
    ...given({ set, instance }),
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

/** Figures of a run with services. Requests count from the time when the tenants have started. */
function ofRequests({ perSecond: _, ...requests }: ServedRequests) {
  const { services, meanPowerW, energyPerRequestJ } = requests
  return {
    throughput: services.reduce((sum, { goodputPerS }) => sum + goodputPerS, 0),
    meanPowerW,
    energyPerSampleJ: energyPerRequestJ,
    requests,
  }
}

/**
 * Figure by which runs of one task are ranked; higher is better. If the task searches for the highest load factor, it
 * is that factor. For other tasks with services, it is requests per joule, because the rate of requests is given.
 * Otherwise it is samples/s.
 */
export function merit(run: RunSummary): number {
  if (run.requests?.maxLoad !== undefined) return run.requests.maxLoad
  return run.requests ? 1 / (run.energyPerSampleJ ?? Number.POSITIVE_INFINITY) : run.throughput
}

/** Key that is equal for runs of the same task. */
export function taskKey({ board, set, taskId }: Pick<RunSummary, 'board' | 'set' | 'taskId'>): string {
  return JSON.stringify([board, set ?? null, taskId])
}

/**
 * Mean throughput over the second half of the windows, weighted by their length, samples/s. As in PctoDL's Python code,
 * it begins at the fourth window at the earliest. Windows in which tenants were restarted are left out. Null if no
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
