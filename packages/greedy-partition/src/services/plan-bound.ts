import { batchSizesUpTo } from '@pctodl/perf-model/serving'
import type { PlanProblem } from './plan-problem.js'

/** Lower bounds of what a request costs at a clock, over all shares and batch sizes. */
interface Least {
  readonly idleW: number
  /** Energy per request of each service, J. */
  readonly energyJ: readonly number[]
  /** Board time per request of each service: share x batch time / batch size, s. */
  readonly boardS: readonly number[]
}

/** Number of SM clocks evaluated per memory state, both ends included. */
const CLOCKS = 8

/**
 * Bound that the model gives for any plan: a lower bound of the power (W) for `min-power`, an upper bound of the load
 * factor for `max-load`, or of the weighted requests/s for `max-value`. A request needs at least the energy (above
 * idle) and the board time that it needs in a process that runs alone with full batches.
 *
 * Between two evaluated clocks, the bound takes energy from the lower clock and time from the higher clock: the least
 * energy of a request rises with the clock, and its least time falls.
 */
export function planBound(problem: PlanProblem): number {
  if (problem.goal !== 'min-power') return boundAt(problem)
  const { ratesPerS, loads } = problem
  const bounds = loads.map((load) => boundAt({ ...problem, ratesPerS: ratesPerS.map((rate) => load * rate) }))
  return bounds.reduce((sum, bound) => sum + bound, 0) / loads.length
}

function boundAt(problem: PlanProblem): number {
  const bounds: number[] = []
  for (let memIndex = 0; memIndex < problem.memClocksMhz.length; memIndex++) {
    const clocks = someClocks(problem.smClocksMhz[memIndex]!)
    const least = clocks.map((clock) => minAt(problem, memIndex, clock))
    least.forEach((lower, i) => {
      bounds.push(boundBetween(problem, lower, least[Math.min(i + 1, least.length - 1)]!))
    })
  }
  return problem.goal === 'min-power' ? Math.min(...bounds) : Math.max(...bounds)
}

function boundBetween(
  { goal, ratesPerS, powerLimitW, objectives }: PlanProblem,
  { idleW, energyJ }: Least,
  { boardS }: Least,
): number {
  const loadS = ratesPerS.reduce((sum, rate, i) => sum + rate * boardS[i]!, 0)
  const loadW = ratesPerS.reduce((sum, rate, i) => sum + rate * energyJ[i]!, 0)
  if (goal === 'min-power') return loadS > 1 ? Number.POSITIVE_INFINITY : idleW + loadW
  const freeW = powerLimitW - idleW
  if (freeW <= 0) return 0
  if (goal === 'max-load') return Math.min(1 / loadS, freeW / loadW)
  const most = (takes: readonly number[], there: number) => {
    let left = there
    let value = 0
    const order = [...takes.keys()].sort(
      (a, b) => objectives[b]!.weight / takes[b]! - objectives[a]!.weight / takes[a]!,
    )
    for (const i of order) {
      const rate = Math.min(ratesPerS[i]!, left / takes[i]!)
      left -= rate * takes[i]!
      value += objectives[i]!.weight * rate
    }
    return value
  }
  return Math.min(most(energyJ, freeW), most(boardS, 1))
}

function minAt(problem: PlanProblem, memIndex: number, smClockMhz: number): Least {
  const { costs, services, memClocksMhz, totalUnits, sharePercentStep } = problem
  const memClockMhz = memClocksMhz[memIndex]!
  const energyJ: number[] = []
  const boardS: number[] = []
  for (const { service, batchSizes } of services) {
    const sizes = batchSizesUpTo(batchSizes.at(-1)!)
    let minJ = Number.POSITIVE_INFINITY
    let minS = Number.POSITIVE_INFINITY
    for (let units = 1; units <= totalUnits; units++) {
      const mpsPercent = units * sharePercentStep
      const alone = costs.of(service.model, mpsPercent, sizes, smClockMhz, memClockMhz)
      sizes.forEach((size, s) => {
        minJ = Math.min(minJ, alone.energyJ[s]! / size)
        minS = Math.min(minS, ((mpsPercent / 100) * alone.aloneMs[s]!) / 1000 / size)
      })
    }
    energyJ.push(minJ)
    boardS.push(minS)
  }
  return { idleW: costs.idlePowerW(smClockMhz, memClockMhz), energyJ, boardS }
}

function someClocks(clocks: readonly number[]): number[] {
  const last = clocks.length - 1
  const count = Math.min(CLOCKS, last + 1)
  return [...new Set(Array.from({ length: count }, (_, i) => clocks[Math.round((i * last) / Math.max(1, count - 1))]!))]
}
