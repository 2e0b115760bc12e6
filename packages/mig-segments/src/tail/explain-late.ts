import type { ServiceObjective, ServiceProfile } from '../profile.js'
import type { UnservedService } from '../segment-plan.js'
import { explainUnserved } from '../service-demand.js'
import { type Dispatch, waysToKeep } from './tail-options.js'

/** Why no way to run a service keeps its objective, and which objective could be kept. */
export function explainLate(
  objective: ServiceObjective,
  profile: ServiceProfile | undefined,
  burstiness: number,
  dispatch: Dispatch,
): UnservedService {
  const { model, latencyMs } = objective
  const ran = profile?.points.filter((point) => point.processThroughput > 0) ?? []
  if (!profile || ran.length === 0) return explainUnserved(objective, profile, latencyMs)
  const fastestMs = Math.min(...ran.map((point) => point.latencyMs))
  const kept = (ms: number) => waysToKeep(profile, { ...objective, latencyMs: ms }, burstiness, dispatch).length > 0
  let low = Math.max(fastestMs, latencyMs)
  let high = low
  do {
    low = high
    high *= 1.25
  } while (!kept(high))
  while (high - low > 0.02 * high) {
    const middle = (low + high) / 2
    if (kept(middle)) high = middle
    else low = middle
  }
  const could = Number((high * 1.0005).toPrecision(4))
  return {
    ...objective,
    reason: 'latency',
    message:
      `${model}: no way to run it answers 99 of 100 requests within ${latencyMs} ms at ${Number(objective.ratePerS.toPrecision(4))}/s ` +
      `(its fastest batch takes ${fastestMs.toPrecision(4)} ms); ${could} ms could be kept`,
  }
}
