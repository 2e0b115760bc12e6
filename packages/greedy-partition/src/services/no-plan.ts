import { LayoutScorer, type Scored } from './layout-scorer.js'
import { uniformLayouts } from './layout-starts.js'
import type { PlanProblem } from './plan-problem.js'
import type { InfeasibleServicePlan } from './plan-result.js'

/** What explains a plan that was not found. */
type Why = Pick<InfeasibleServicePlan, 'reason' | 'message'> & Partial<InfeasibleServicePlan>

/** Explain why a search found no plan. `best` is the layout that came closest. */
export function noPlan({ problem, evaluations }: LayoutScorer, best: Scored | undefined): InfeasibleServicePlan {
  const { boardLimitW } = problem
  const why = best === undefined ? noMemory(problem) : best.shortfall === 0 ? overCap(problem, best) : tooSlow(problem)
  return {
    feasible: false,
    lowestFeasibleCapW: null,
    ...why,
    ...(boardLimitW === undefined ? {} : { boardLimitW }),
    evaluations,
  }
}

function noMemory(problem: PlanProblem): Why {
  const needed = problem.services.reduce((sum, { memoryBytes }) => sum + memoryBytes[0]!, 0)
  return {
    reason: 'memory',
    message:
      `a process for each of ${names(problem)} needs ${gib(needed)} at the smallest batches, and there are ` +
      `${gib(problem.memoryBytes)} for tenants: serve fewer services, or raise memoryBytes`,
  }
}

function overCap(problem: PlanProblem, best: Scored): Why {
  const { name, powerLimitW } = problem.model.spec
  const neededW = Math.ceil(10 * (best.powerW + problem.powerMarginW)) / 10
  const reachable = neededW <= powerLimitW.max
  const sheds = problem.goal !== 'min-power'
  return {
    reason: 'power-cap',
    message:
      `a cap of ${problem.powerCapW} W cannot be kept by ${names(problem)} ${sheds ? 'even without requests' : 'at these rates'} on ${name}: ` +
      (reachable
        ? `raise it to at least ${neededW} W${sheds ? '' : ', or lower the rates (the objective max-load says to which part)'}`
        : `it takes ${neededW} W, and the board's highest limit is ${powerLimitW.max} W: lower the rates`),
    lowestFeasibleCapW: reachable ? neededW : null,
  }
}

/** The objectives are missed at any power. */
function tooSlow(problem: PlanProblem): Why {
  for (let i = 0; i < problem.services.length; i++) {
    const alone = aloneOnBoard(problem, i)
    if (alone !== undefined) return alone
  }
  return {
    reason: 'together',
    message:
      `each of ${names(problem)} could be answered in time alone on ${problem.model.spec.name}, but no plan for all was found: ` +
      `lower the rates (the objective max-load says to which part), or let max-value choose what to shed`,
  }
}

/**
 * Reason why one service misses its objective or its rate even alone on the board and without a cap; undefined if it
 * meets both.
 */
function aloneOnBoard(problem: PlanProblem, index: number): Why | undefined {
  const only = <T>(list: readonly T[]): readonly T[] => [list[index]!]
  const alone = new LayoutScorer({
    ...problem,
    goal: 'max-load',
    services: only(problem.services),
    objectives: only(problem.objectives),
    ratesPerS: only(problem.ratesPerS),
    askedPerS: only(problem.askedPerS),
    burstiness: only(problem.burstiness),
    powerCapW: Infinity,
    powerLimitW: Infinity,
  })
  const { service } = problem.services[index]!
  const layouts = Array.from({ length: problem.maxInstances }, (_, i) =>
    uniformLayouts(alone.problem, () => [[problem.totalUnits]], [i + 1]),
  ).flat()
  let most = 0
  let minMs = Number.POSITIVE_INFINITY
  for (const layout of layouts) {
    const scored = alone.score(layout)
    if (scored === undefined) continue
    if (scored.shortfall === 0) most = Math.max(most, -scored.cost)
    const board = alone.board(layout)
    const [of] = board.predictAt(board.clocks - 1, [1e-3 * problem.ratesPerS[index]!]).services
    minMs = Math.min(minMs, of!.p99Ms)
  }
  if (most === 0) {
    const p99Ms = problem.objectives[index]!.objective.p99Ms
    return {
      reason: 'latency-objective',
      service: service.name,
      bestP99Ms: minMs,
      message:
        `${service.name} cannot be answered within ${p99Ms.toPrecision(3)} ms (its objective less the margin) on ` +
        `${problem.model.spec.name}: the lowest p99 is ${minMs.toPrecision(3)} ms, alone on the whole board and almost without load`,
    }
  }
  if (most >= 1) return undefined
  const bestRatePerS = most * problem.askedPerS[index]!
  return {
    reason: 'rate',
    service: service.name,
    bestRatePerS,
    message:
      `${service.name} is asked for ${problem.askedPerS[index]!.toPrecision(4)} requests/s, and alone on the whole ` +
      `${problem.model.spec.name} it can answer ${bestRatePerS.toPrecision(4)} in time (margins included): let in no more`,
  }
}

function names({ services }: PlanProblem): string {
  return services.map(({ service }) => service.name).join(', ')
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}
