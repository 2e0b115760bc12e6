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
  readonly lowestCapW: number
  readonly durationMs: number
  /** Samples/s over the whole run, restarts included. */
  readonly throughput: number
  /** How `throughput` spreads, where several runs are summed up. */
  readonly throughputSpread?: Spread
  /** The individual board, where runs of several are compared. */
  readonly instance?: string
  /** Number of runs that are summed up, where there are several. */
  readonly runs?: number
  /** Samples/s once the algorithm has come to rest, see `steadyThroughput()`; null where no window qualifies. */
  readonly steadyThroughput: number | null
  /** Whether the power figures are the simulator's truth or the sensor's readings. */
  readonly powerSource: PowerSource
  readonly meanPowerW: number | null
  /** Highest average over one second, W. */
  readonly peakPowerW: number | null
  /** Share of the steady state with the 1 s average more than 1 % above the cap, percent. */
  readonly timeAboveCapPercent: number | null
  /** Mean power * duration / samples, J; null where no sample was completed or no power is known. */
  readonly energyPerSampleJ: number | null
  /** By network, with its objective where there is one; absent where it was not measured. */
  readonly latency?: readonly NetworkLatency[]
  /** Of requests, without what happened second by second. */
  readonly requests?: Omit<ServedRequests, 'perSecond'>
  /** Of the steady state. */
  readonly verdict: Verdict
  /** Of the first ten seconds after the start and after each reconfiguration; absent where the run is judged whole. */
  readonly startUp?: Verdict
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

/** Of services what counts begins when their tenants have started. */
function ofRequests({ perSecond: _, ...requests }: ServedRequests) {
  const { services, meanPowerW, energyPerRequestJ } = requests
  return {
    throughput: services.reduce((sum, { goodputPerS }) => sum + goodputPerS, 0),
    meanPowerW,
    energyPerSampleJ: energyPerRequestJ,
    requests,
  }
}

/** Whether less energy for each request is what counts, and not more throughput: requests come by themselves. */
export function savesEnergy({ requests }: Pick<RunSummary, 'requests'>): boolean {
  return requests !== undefined && requests.maxLoad === undefined
}

/** What runs of one task are ranked by, more is better: samples/s; requests/J where requests come; the most load where that is sought. */
export function merit(run: RunSummary): number {
  if (run.requests?.maxLoad !== undefined) return run.requests.maxLoad
  return savesEnergy(run) ? 1 / (run.energyPerSampleJ ?? Number.POSITIVE_INFINITY) : run.throughput
}

/** Runs with the same key are of one task. */
export function taskKey({ board, set, taskId }: Pick<RunSummary, 'board' | 'set' | 'taskId'>): string {
  return JSON.stringify([board, set ?? null, taskId])
}

/**
 * Mean throughput of the second half of the windows, from the fourth window at the earliest as in PctoDL's Python code's final
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
