import type { TailPlan } from '../tail/plan-for-tail.js'

/** What the estimate says of each service of a plan, a line each. */
export function explainTails({ served, tails, burstiness, dispatch }: TailPlan): string {
  const lines = tails.map(({ model, workers, utilisation, p99Ms }, i) => {
    const percent = (100 * utilisation).toFixed(0)
    return `  ${model}: p99 about ${shown(p99Ms)} of ${shown(served[i]!.latencyMs)} ms, ${workers} ${workers === 1 ? 'process' : 'processes'}, ${percent} % used`
  })
  const queues = dispatch === 'shared' ? 'one queue for each service' : 'one queue for each segment, filled by chance'
  return [`Tails (burstiness ${burstiness}, ${queues}):`, ...lines].join('\n')
}

function shown(ms: number): string {
  return ms >= 1000 ? ms.toFixed(0) : String(Number(ms.toPrecision(3)))
}
