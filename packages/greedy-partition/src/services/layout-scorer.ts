import type { Configuration } from '@pctodl/platform'
import { fits, type Layout, layoutKey, tenantsOf } from './layout.js'
import { LayoutBoard } from './layout-board.js'
import { maxValue } from './max-value.js'
import type { PlanProblem } from './plan-problem.js'

/** Share of the requests that must be in time. */
const WANTED = 0.99
/** To which part of itself a load factor is found, and below which it counts as none. */
const FACTOR_STEP = 2e-3
const MIN_FACTOR = 1e-3

/** Part of the best value that a layout must reach at the best's clock to be looked at further. */
const HOPEFUL = 0.95
/** Clocks by which the best one for a value is looked for at first. */
const CLOCK_STRIDE = 4

/** A layout at the best clock for it. */
export interface Scored {
  readonly layout: Layout
  readonly clockIndex: number
  /** 0 where it keeps what must be kept; else by how much it does not: the less, the nearer. */
  readonly shortfall: number
  /** The less the better, among those without a shortfall: W, or less the factor or the value. */
  readonly cost: number
  readonly powerW: number
  /** Requests/s that are let in, margin included. */
  readonly ratesPerS: readonly number[]
}

/** Scores each layout once. */
export class LayoutScorer {
  readonly problem: PlanProblem
  evaluations = 0
  readonly #known = new Map<string, Scored | undefined>()
  /** Costs that a layout was found not to be below, by layout. */
  readonly #notBelow = new Map<string, number>()
  readonly #startMs: number
  readonly #attainments: Float64Array
  #clockHint = -1
  #factorHint = 1

  constructor(problem: PlanProblem) {
    this.problem = problem
    this.#startMs = problem.now()
    this.#attainments = new Float64Array(problem.services.length)
  }

  /** Which budget is spent; undefined while there is some left. */
  spent(): 'evaluation-budget' | 'time-budget' | undefined {
    const { budgetEvaluations, timeBudgetMs, now } = this.problem
    if (this.evaluations >= budgetEvaluations) return 'evaluation-budget'
    if (timeBudgetMs < Infinity && now() - this.#startMs >= timeBudgetMs) return 'time-budget'
    return undefined
  }

  /** Undefined for a layout that the board has no room for. */
  score(layout: Layout): Scored | undefined {
    if (!fits(this.problem, layout)) return undefined
    const key = layoutKey(layout)
    const known = this.#known.get(key)
    if (known !== undefined || this.#known.has(key)) return known
    this.evaluations++
    const scored = this.#judge(layout)
    this.#known.set(key, scored)
    return scored
  }

  /**
   * The score where it is better than another's, undefined where it is not: what cannot be better is left as soon as that shows, at
   * the other's clock or with the other's load.
   */
  scoreAbove(layout: Layout, than: Scored): Scored | undefined {
    if (!fits(this.problem, layout)) return undefined
    const key = layoutKey(layout)
    if (!this.#known.has(key) && than.shortfall === 0) {
      const before = this.#notBelow.get(key)
      if (before !== undefined && than.cost <= before) return undefined
      if (this.#cannotBeat(layout, than)) {
        if (before === undefined) this.evaluations++
        this.#notBelow.set(key, than.cost)
        return undefined
      }
    }
    const scored = this.score(layout)
    return scored !== undefined && isBetter(scored, than) ? scored : undefined
  }

  #cannotBeat(layout: Layout, than: Scored): boolean {
    const { goal, smClocksMhz, ratesPerS } = this.problem
    const { clockIndex } = than
    if (clockIndex >= smClocksMhz[layout.memIndex]!.length) return false
    if (goal === 'min-power') {
      // A higher clock takes more power, a lower one keeps less.
      const { met, powerW } = this.holds(this.board(layout), clockIndex, ratesPerS)
      return !met && powerW >= than.cost
    }
    if (goal === 'max-load') {
      const factor = -than.cost * (1 + FACTOR_STEP)
      this.#clockHint = clockIndex
      return (
        this.#clockFor(
          this.board(layout),
          ratesPerS.map((rate) => factor * rate),
        ) === undefined
      )
    }
    // Not a proof: what is worth much less at the other's clock is hardly worth more at another one.
    const there = maxValue(this.problem, this.board(layout), clockIndex)
    return (there?.value ?? 0) < -than.cost * HOPEFUL
  }

  configuration({ layout, clockIndex }: Scored): Configuration {
    const { memClocksMhz, smClocksMhz } = this.problem
    return {
      tenants: tenantsOf(this.problem, layout),
      smClockMhz: smClocksMhz[layout.memIndex]![clockIndex]!,
      memClockMhz: memClocksMhz[layout.memIndex]!,
    }
  }

  board(layout: Layout): LayoutBoard {
    return new LayoutBoard(this.problem, layout)
  }

  /** Whether all objectives hold, and watts. */
  holds(board: LayoutBoard, clockIndex: number, ratesPerS: readonly number[]): { met: boolean; powerW: number } {
    const powerW = board.powerAt(clockIndex, ratesPerS, this.#attainments)
    return { met: this.#attainments.every((attainment) => attainment >= WANTED), powerW }
  }

  #judge(layout: Layout): Scored {
    const board = this.board(layout)
    if (this.#clockHint < 0 || this.#clockHint >= board.clocks) this.#clockHint = board.clocks - 1
    const { goal } = this.problem
    if (goal === 'min-power') return this.#minPower(layout, board)
    return goal === 'max-load' ? this.#maxLoad(layout, board) : this.#maxValue(layout, board)
  }

  #minPower(layout: Layout, board: LayoutBoard): Scored {
    const { ratesPerS } = this.problem
    const clockIndex = this.minClock(board, ratesPerS)
    if (clockIndex === undefined) return this.#short(layout, board, ratesPerS)
    this.#clockHint = clockIndex
    const { powerW } = this.holds(board, clockIndex, ratesPerS)
    return { layout, clockIndex, shortfall: 0, cost: powerW, powerW, ratesPerS }
  }

  /** The lowest clock at which all objectives hold: latencies fall and power rises with the clock. */
  minClock(board: LayoutBoard, ratesPerS: readonly number[]): number | undefined {
    const met = (clockIndex: number) => this.holds(board, clockIndex, ratesPerS).met
    let low = -1
    let high = board.clocks
    let at = this.#clockHint
    for (let stride = 1; high - low > 1; stride *= 2) {
      if (met(at)) high = at
      else low = at
      if (low < 0) at = Math.max(0, high - stride)
      else if (high >= board.clocks) at = Math.min(board.clocks - 1, low + stride)
      else at = (low + high) >> 1
    }
    return high < board.clocks ? high : undefined
  }

  #maxLoad(layout: Layout, board: LayoutBoard): Scored {
    const { ratesPerS } = this.problem
    const times = (factor: number) => ratesPerS.map((rate) => factor * rate)
    let low = 0
    let high = Number.POSITIVE_INFINITY
    let clockIndex = -1
    let at = this.#factorHint
    while (high - low > FACTOR_STEP * low) {
      const found = this.#clockFor(board, times(at))
      if (found === undefined) high = at
      else {
        low = at
        clockIndex = found
        this.#clockHint = found
      }
      if (high < MIN_FACTOR) return this.#short(layout, board, times(MIN_FACTOR))
      if (low === 0) at = high / 2
      else at = high === Infinity ? 1.4 * low : (low + high) / 2
    }
    this.#factorHint = low
    const { powerW } = this.holds(board, clockIndex, times(low))
    return { layout, clockIndex, shortfall: 0, cost: -low, powerW, ratesPerS: times(low) }
  }

  /** A clock at which objectives and cap hold. */
  #clockFor(board: LayoutBoard, ratesPerS: readonly number[]): number | undefined {
    let low = -1
    let high = board.clocks
    let at = this.#clockHint
    while (high - low > 1) {
      const { met, powerW } = this.holds(board, at, ratesPerS)
      const kept = powerW <= this.problem.powerLimitW
      if (met && kept) return at
      if (!met && !kept) return undefined
      if (met) high = at
      else low = at
      at = (low + high) >> 1
    }
    return undefined
  }

  #maxValue(layout: Layout, board: LayoutBoard): Scored {
    let best = maxValue(this.problem, board, this.#clockHint)
    let at = this.#clockHint
    for (let stride = CLOCK_STRIDE; stride >= 1; stride >>= 1) {
      for (let moved = true; moved; ) {
        moved = false
        for (const next of [at - stride, at + stride]) {
          if (next < 0 || next >= board.clocks) continue
          const tried = maxValue(this.problem, board, next)
          if (tried !== undefined && (best === undefined || tried.value > best.value)) {
            best = tried
            at = next
            moved = true
            break
          }
        }
      }
    }
    if (best === undefined) return this.#short(layout, board, this.problem.ratesPerS)
    this.#clockHint = at
    return { layout, clockIndex: at, shortfall: 0, cost: -best.value, powerW: best.powerW, ratesPerS: best.ratesPerS }
  }

  /** What misses its objective at the highest clock, and by how much. */
  #short(layout: Layout, board: LayoutBoard, ratesPerS: readonly number[]): Scored {
    const clockIndex = board.clocks - 1
    const { powerW, services } = board.predictAt(clockIndex, ratesPerS)
    let shortfall = 1e-3
    services.forEach(({ p99Ms, answeredPerS, objectiveMet }, i) => {
      if (objectiveMet) return
      shortfall +=
        p99Ms === Infinity
          ? 10 + Math.log(ratesPerS[i]! / answeredPerS)
          : Math.max(0, Math.log(p99Ms / this.problem.objectives[i]!.objective.p99Ms))
    })
    return { layout, clockIndex, shortfall, cost: powerW, powerW, ratesPerS }
  }
}

/** The better of two first; the canonical order decides ties. */
export function bestFirst(a: Scored, b: Scored): number {
  if (a.shortfall !== b.shortfall) return a.shortfall - b.shortfall
  if (a.cost !== b.cost) return a.cost - b.cost
  return layoutKey(a.layout) < layoutKey(b.layout) ? -1 : 1
}

/** Gains below this part are rounding. */
const MIN_GAIN = 1e-6

export function isBetter(a: Scored, b: Scored): boolean {
  if (a.shortfall !== b.shortfall) return a.shortfall < b.shortfall * (1 - MIN_GAIN)
  return a.cost < b.cost - MIN_GAIN * Math.abs(b.cost)
}
