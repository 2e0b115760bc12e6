import type { FleetPlan } from '../fleet/fleet-plan.js'
import type { FleetReplan } from '../replan/replan-fleet.js'

export function changeOf({
  steps,
  created,
  restarted,
  removed,
  kept,
  lowerBoundMoves,
  freshCost,
  cost,
}: FleetReplan): string {
  const lines = steps.map(({ kind, instance, shortfalls }, i) => {
    const { gpu, node, index, smClockMhz, profile, start, segments } = instance
    const clock = smClockMhz === undefined ? '' : ` at ${smClockMhz} MHz`
    const models = segments.map(({ model, batchSize, processes }) => `${model} ${batchSize}x${processes}`).join(' + ')
    const short = shortfalls.map(
      ({ model, capacity, needed }) =>
        ` (meanwhile ${model} ${capacity.toFixed(0)} of ${needed.toFixed(0)} requests/s)`,
    )
    return `${String(i + 1).padStart(3)}. ${kind} ${gpu} node ${node} GPU ${index}${clock}, ${profile}@${start}: ${models}${short.join('')}`
  })
  const moves = created + restarted / 2
  const proof = lowerBoundMoves >= moves ? 'no fewer would do' : `at least ${lowerBoundMoves}, restarts counted half`
  const fewer = freshCost < cost ? `; boards for ${freshCost} would do, see --consolidate` : ''
  const counts = `${kept} instances stay, ${restarted} restart in place, ${created} are created (${proof}), ${removed} removed${fewer}`
  return `${[...lines, ...(lines.length > 0 ? [''] : []), counts].join('\n')}\n`
}

export function fleetSummary(plan: FleetPlan | FleetReplan): string {
  const { boards, cost, lowerBoundCost, powerW, meanPowerW } = plan
  const lowerBoundPowerW = 'lowerBoundPowerW' in plan ? plan.lowerBoundPowerW : 0
  const counts = new Map<string, number>()
  for (const { gpu } of boards) counts.set(gpu, (counts.get(gpu) ?? 0) + 1)
  const kinds = [...counts].map(([gpu, count]) => `${count} ${gpu}`).join(', ')
  const gap = cost > 0 ? (cost - lowerBoundCost) / cost : 0
  const proof =
    gap <= 1e-6 ? 'no plan costs less' : `at least ${lowerBoundCost.toPrecision(4)}, gap ${(100 * gap).toFixed(2)} %`
  const least = lowerBoundPowerW > 0 ? `, no plan of that cost below ${lowerBoundPowerW.toFixed(0)} W` : ''
  const watts = Number.isNaN(powerW)
    ? ''
    : `; ${powerW.toFixed(0)} W while everything runs${least}, ${meanPowerW.toFixed(0)} W at these rates`
  return `${kinds || 'no boards'}: cost ${Number(cost.toPrecision(6))} (${proof})${watts}`
}
