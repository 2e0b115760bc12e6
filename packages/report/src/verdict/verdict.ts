import type { CapFigures } from '../evaluate/cap-phases.js'
import { STEADY_TOLERANCE } from '../evaluate/index.js'
import { EXCESS_TOLERANCE } from '../evaluate/power-metrics.js'
import type { NetworkLatency, ServiceOutcome } from '../record/run-record.js'

/**
 * If power is known for less than this percentage of the run, the reason says that part of the run was not observed.
 */
const FULL_COVERAGE_PERCENT = 99

/** Whether a run held its cap and met its latency objectives; `unknown` if no power could be read. */
export interface Verdict {
  readonly status: 'holds' | 'violates' | 'unknown'
  /** The constraints that the run breaks. Absent in records of older versions, which judged only the cap. */
  readonly breaks?: 'cap' | 'latency' | 'cap and latency'
  /** Reason for the status, in one sentence. */
  readonly reason: string
}

/**
 * Judges the steady state of a run. The 1 s average may be above the cap only for a small fraction of the time. Of each
 * network's batches, or each service's requests, 99 % must meet their latency objective.
 */
export function verdict(
  steady: CapFigures,
  latency: readonly NetworkLatency[] = [],
  services?: readonly ServiceOutcome[],
): Verdict {
  const ofCap = capVerdict(steady, STEADY_TOLERANCE)
  const missed = services
    ? services.filter(({ objectiveMet }) => objectiveMet === false).map(missedRequests)
    : latency.filter(({ objectiveMs, p99Ms }) => objectiveMs !== undefined && p99Ms! > objectiveMs).map(missedBatches)
  if (missed.length === 0) return ofCap
  const reason = missed.join('; ')
  if (ofCap.status !== 'violates') return { status: 'violates', breaks: 'latency', reason }
  return { status: 'violates', breaks: 'cap and latency', reason: `${ofCap.reason}; ${reason}` }
}

const missedBatches = ({ model, p99Ms, objectiveMs }: NetworkLatency) =>
  `${model}: 99 % of batches within ${p99Ms!.toFixed(1)} ms, ${objectiveMs} promised`

const missedRequests = ({ service, attainment }: ServiceOutcome) =>
  `${service}: ${(100 * attainment!).toFixed(2)} % of requests in time, 99 promised`

/**
 * Judges only whether the cap was held, in one phase of a run.
 *
 * @param tolerance allowed fraction of the phase with power above the cap, 0..1
 */
export function capVerdict(metrics: CapFigures, tolerance: number): Verdict {
  const fraction = metrics.violationFraction.oneSecond
  if (fraction === null) return { status: 'unknown', reason: 'no power reading long enough for a 1 s average' }
  const status = fraction <= tolerance ? 'holds' : 'violates'
  const limit = `${100 * tolerance} % allowed`
  const level = `more than ${100 * EXCESS_TOLERANCE} % above the cap`
  const reason =
    fraction === 0
      ? `1 s average never ${level}`
      : `1 s average ${level} for ${percent(fraction)} of the time (${limit}), ` +
        `at most ${(metrics.longestExcessMs / 1000).toFixed(1)} s on end`
  const unseen =
    metrics.coveragePercent < FULL_COVERAGE_PERCENT
      ? `; power known for only ${metrics.coveragePercent.toFixed(0)} % of the run`
      : ''
  return { status, ...(status === 'violates' ? { breaks: 'cap' as const } : {}), reason: reason + unseen }
}

/**
 * Formats a fraction as a percentage with as few digits as possible, but enough not to look equal to the limit beside
 * it.
 */
function percent(fraction: number): string {
  const value = 100 * fraction
  if (value < 0.01) return '< 0.01 %'
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} %`
}
