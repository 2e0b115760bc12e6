import type { ServiceObjective, ServiceProfile } from '../profile.js'
import type { UnservedService } from '../segment-plan.js'
import { explainUnserved } from '../service-demand.js'
import { leastKept } from './keepable.js'
import { type Dispatch, waysToKeep } from './tail-options.js'

/** That no way keeps an objective by the tail; `withKeepable` says which one could be kept. */
export function cannotKeep(objective: ServiceObjective, profile: ServiceProfile | undefined): UnservedService {
  const { model, latencyMs, ratePerS } = objective
  const fastestMs = fastestBatchMs(profile)
  if (fastestMs === Number.POSITIVE_INFINITY) return explainUnserved(objective, profile, latencyMs)
  const message =
    `${model}: no way to run it answers 99 of 100 requests within ${latencyMs} ms at ${Number(ratePerS.toPrecision(4))}/s ` +
    `(its fastest batch takes ${fastestMs.toPrecision(4)} ms)`
  return { ...objective, reason: 'latency', message }
}

/**
 * Unserved services with the objectives that could be kept.
 *
 * @param profiles as `withBatchRates` has them
 * @param kept whether a plan for this service alone serves it
 */
export async function withKeepable(
  unserved: readonly UnservedService[],
  profiles: readonly ServiceProfile[],
  burstiness: number,
  dispatch: Dispatch,
  kept: (objective: ServiceObjective) => Promise<boolean>,
): Promise<UnservedService[]> {
  const named: UnservedService[] = []
  for (const service of unserved) {
    const profile = profiles.find(({ model }) => model === service.model)
    const estimated = (objective: ServiceObjective) => waysToKeep(profile!, objective, burstiness, dispatch).length > 0
    const fromMs = Math.max(service.latencyMs, fastestBatchMs(profile))
    const keepableMs = fromMs < Infinity ? await leastKept(service, fromMs, estimated, kept) : null
    named.push(
      keepableMs === null
        ? service
        : { ...service, keepableMs, message: `${service.message}; ${keepableMs} ms could be kept` },
    )
  }
  return named
}

function fastestBatchMs(profile: ServiceProfile | undefined): number {
  const ran = profile?.points.filter((point) => point.processThroughput > 0) ?? []
  return Math.min(...ran.map((point) => point.latencyMs))
}
