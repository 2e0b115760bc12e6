import { bestPowerSource, type PowerMetrics, type PowerSource, powerMetrics } from '../evaluate/index.js'
import type { NetworkLatency, RunRecord } from '../record/run-record.js'
import { type Verdict, verdict } from './verdict.js'

/** The figures of one run that tables, charts and JSON reports show. */
export interface RunSummary {
  readonly board: string
  readonly algorithm: string
  readonly taskId: number
  readonly model: string
  readonly dataset: string
  /** Set of tasks that it belongs to, where there are several. */
  readonly set?: string
  /** The power cap, W; `dynamic` where it changed during the run. */
  readonly capW: number | 'dynamic'
  readonly durationMs: number
  /** Samples/s over the whole run, restarts included. */
  readonly throughput: number
  /** Half the width of the 95 % confidence interval of `throughput`, where several runs are summed up. */
  readonly throughputHalfWidth95?: number
  /** Number of runs that are summed up, where there are several. */
  readonly runs?: number
  /** Samples/s once the algorithm has come to rest, see `steadyThroughput()`; null where no window qualifies. */
  readonly steadyThroughput: number | null
  /** Whether the power figures are the simulator's truth or the sensor's readings. */
  readonly powerSource: PowerSource
  readonly meanPowerW: number | null
  /** Highest average over one second, W. */
  readonly peakPowerW: number | null
  /** Share of the time with the 1 s average more than 1 % above the cap, percent. */
  readonly timeAboveCapPercent: number | null
  /** Mean power * duration / samples, J; null where no sample was completed or no power is known. */
  readonly energyPerSampleJ: number | null
  /** By network, with its objective where there is one; absent where it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  readonly verdict: Verdict
  readonly notes: readonly string[]
  /** All measures of power behind the figures above. */
  readonly power: PowerMetrics
}

/** Windows before this one (counted from 0) are start-up, however short the run. */
const FIRST_STEADY_WINDOW = 3

/** Index of the window from which an algorithm counts as having come to rest, of so many windows. */
export function firstSteadyWindow(windowCount: number): number {
  return Math.max(FIRST_STEADY_WINDOW, Math.floor(windowCount / 2))
}

/**
 * Sum up a run, by true power where it is known and by the sensor otherwise.
 *
 * @throws InvalidInputError for a malformed power series
 */
export function summarizeRun(run: RunRecord): RunSummary {
  const source = bestPowerSource(run.power)
  const power = powerMetrics(run.power, source)
  const fraction = power.violationFraction.oneSecond
  const seconds = run.durationMs / 1000
  return {
    board: run.board,
    algorithm: run.algorithm,
    taskId: run.taskId,
    model: run.model,
    dataset: run.dataset,
    ...(run.set === undefined ? {} : { set: run.set }),
    capW: capOf(run.power.powerCapW),
    durationMs: run.durationMs,
    throughput: seconds > 0 ? run.samples / seconds : 0,
    steadyThroughput: steadyThroughput(run.windows),
    powerSource: source,
    meanPowerW: power.meanPowerW,
    peakPowerW: power.peakPowerW,
    timeAboveCapPercent: fraction === null ? null : 100 * fraction,
    energyPerSampleJ:
      power.meanPowerW === null || run.samples === 0 ? null : (power.meanPowerW * seconds) / run.samples,
    ...(run.latency ? { latency: run.latency } : {}),
    verdict: verdict(power, run.latency),
    notes: run.notes,
    power,
  }
}

/**
 * Mean throughput of the second half of the windows, from the fourth window at the earliest as in upstream PctoDL's final
 * figure, without the windows in which tenants were being restarted; each window weighted by its length. Samples/s; null
 * where no window is left.
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
