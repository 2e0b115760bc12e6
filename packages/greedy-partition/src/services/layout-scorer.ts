import type { Landscape } from '../climb.js'
import { fits, type Layout, layoutKey } from './layout.js'
import { LayoutBoard, WANTED } from './layout-board.js'
import { layoutsAround } from './layout-moves.js'
import { maxValue } from './max-value.js'
import { MIN_RATE_PER_S, type PlanProblem } from './plan-problem.js'

/** Relative precision of a load factor. */
const FACTOR_STEP = 2e-3
/** Load factors below this count as 0. */
const MIN_FACTOR = 1e-3

/** A layout is evaluated further only if it reaches this fraction of the best value at the best layout's clock. */
const HOPEFUL = 0.95
/** Initial stride of the search for the clock of highest value. */
const CLOCK_STRIDE = 4

/** A layout at its best clock. */
export interface Scored {
  readonly layout: Layout
  readonly clockIndex: number
  /** 0 if the layout meets all objectives; otherwise a measure of how far it misses them. */
  readonly shortfall: number
  /**
   * Cost by the goal, to compare layouts without a shortfall; lower is better. It is power (W), the negative load
   * factor or the negative value.
   */
  readonly cost: number
  readonly powerW: number
  /** Admitted requests/s, including the margin. */
  readonly ratesPerS: readonly number[]
}

/**
 * Scores layouts and caches the scores. Layouts compare by their shortfall from the objectives, then by the cost of the
 * goal. As a search space for a climb, a move is represented by the layout that it leads to.
 */
export class LayoutScorer implements Landscape<Scored, Layout> {
  readonly problem: PlanProblem
  evaluations = 0
  readonly #known = new Map<string, Scored | undefined>()
  /** A lower bound of the cost of each layout that was rejected without a score. */
  readonly #notBelow = new Map<string, number>()
  readonly #attainments: Float64Array
  #clockHint = -1
  #factorHint = 1

  constructor(problem: PlanProblem) {
    this.problem = problem
    this.#attainments = new Float64Array(problem.services.length)
  }

  /** The spent budget; undefined if no budget is spent. */
  spent(): 'evaluation-budget' | 'time-budget' | undefined {
    const { budgetEvaluations, deadlineMs, now } = this.problem
    if (this.evaluations >= budgetEvaluations) return 'evaluation-budget'
    if (now() >= deadlineMs) return 'time-budget'
    return undefined
  }

  movesFrom({ layout }: Scored): Layout[] {
    return layoutsAround(this.problem, layout)
  }

  moved(_: Scored, layout: Layout): Scored | undefined {
    return this.score(layout)
  }

  isBetter(a: Scored, b: Scored): boolean {
    return isBetter(a, b)
  }

  bestFirst(a: Scored, b: Scored): number {
    return bestFirst(a, b)
  }

  /** Class of a layout: its number of processes and its memory state. */
  shape({ layout: { services, memIndex } }: Scored): string {
    return `${memIndex} ${services.reduce((sum, { count }) => sum + count, 0)}`
  }

  /** Score of a layout; undefined if it does not fit on the board. */
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
   * Score a layout if it is better than another layout; undefined if it is not. The evaluation stops early if a check
   * at the other layout's clock or load shows that the layout cannot be better.
   */
  improved(than: Scored, layout: Layout): Scored | undefined {
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
    const { goal, smClocksMhz, ratesPerS, loads } = this.problem
    const { clockIndex } = than
    if (clockIndex >= smClocksMhz[layout.memIndex]!.length) return false
    if (goal === 'min-power') {
      if (loads.some((load) => load !== 1)) return false
      // A higher clock draws more power, and a lower clock misses more objectives.
      const { met, powerW } = this.holds(this.board(layout), clockIndex, ratesPerS)
      return !met && powerW >= than.cost
    }
    if (goal === 'max-load') {
      // The other layout is above the cap.
      if (than.cost > 0) return false
      const factor = -than.cost * (1 + FACTOR_STEP)
      this.#clockHint = clockIndex
      return (
        this.#clockFor(
          this.board(layout),
          ratesPerS.map((rate) => factor * rate),
        ) === undefined
      )
    }
    // Heuristic: a layout whose value is much lower at the other layout's clock is unlikely to be better at another
    // clock.
    const there = maxValue(this.problem, this.board(layout), clockIndex)
    return (there?.value ?? 0) < -than.cost * HOPEFUL
  }

  board(layout: Layout): LayoutBoard {
    return new LayoutBoard(this.problem, layout)
  }

  /** Whether all objectives are met, and the power in W. */
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
    const { ratesPerS, powerLimitW } = this.problem
    const clockIndex = this.minClock(board, ratesPerS)
    if (clockIndex === undefined) return this.#short(layout, board, ratesPerS)
    this.#clockHint = clockIndex
    const { powerW } = this.holds(board, clockIndex, ratesPerS)
    // Above the limit, the power at full load is the cost. It exceeds the mean power of every layout within the limit.
    const cost = powerW > powerLimitW ? powerW : this.#meanPowerW(layout, board, powerW)
    return { layout, clockIndex, shortfall: 0, cost, powerW, ratesPerS }
  }

  /** Mean power over the loads, W. Each load runs at its best clocks; the power at full load is given. */
  #meanPowerW(layout: Layout, board: LayoutBoard, wholeW: number): number {
    const { ratesPerS, loads, memClocksMhz } = this.problem
    const others = memClocksMhz.flatMap((_, memIndex) =>
      memIndex === layout.memIndex ? [] : this.board({ ...layout, memIndex }),
    )
    const powers = loads.map((load) => {
      if (load === 1) return wholeW
      const rates = ratesPerS.map((rate) => Math.max(MIN_RATE_PER_S, load * rate))
      return [board, ...others].reduce((minW, each) => {
        const clockIndex = this.minClock(each, rates)
        return clockIndex === undefined ? minW : Math.min(minW, this.holds(each, clockIndex, rates).powerW)
      }, Infinity)
    })
    return powers.reduce((sum, powerW) => sum + powerW, 0) / loads.length
  }

  /**
   * The lowest clock at which all objectives are met; undefined if there is none. Latencies fall as the clock rises.
   */
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
      if (high < MIN_FACTOR) return this.#aboveCap(layout, board, times(MIN_FACTOR))
      if (low === 0) at = high / 2
      else at = high === Infinity ? 1.4 * low : (low + high) / 2
    }
    this.#factorHint = low
    const { powerW } = this.holds(board, clockIndex, times(low))
    return { layout, clockIndex, shortfall: 0, cost: -low, powerW, ratesPerS: times(low) }
  }

  /** Score of a layout that cannot keep the cap and meet the objectives even at these low rates. Its cost is power. */
  #aboveCap(layout: Layout, board: LayoutBoard, ratesPerS: readonly number[]): Scored {
    const clockIndex = this.minClock(board, ratesPerS)
    if (clockIndex === undefined) return this.#short(layout, board, ratesPerS)
    const { powerW } = this.holds(board, clockIndex, ratesPerS)
    return { layout, clockIndex, shortfall: 0, cost: powerW, powerW, ratesPerS }
  }

  /** A clock at which all objectives and the cap are met; undefined if none is found. */
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
    let at = this.#clockHint
    let best = maxValue(this.problem, board, at)
    for (let stride = CLOCK_STRIDE; best === undefined && at > 0; stride *= 2) {
      at = Math.max(0, at - stride)
      best = maxValue(this.problem, board, at)
    }
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
    if (best === undefined) {
      const ratesPerS = this.problem.ratesPerS.map(() => MIN_RATE_PER_S)
      const { powerW } = this.holds(board, 0, ratesPerS)
      return { layout, clockIndex: 0, shortfall: 0, cost: powerW, powerW, ratesPerS }
    }
    this.#clockHint = at
    return { layout, clockIndex: at, shortfall: 0, cost: -best.value, powerW: best.powerW, ratesPerS: best.ratesPerS }
  }

  /** Score of a layout that misses objectives even at the highest clock. */
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

/** Comparator that sorts the better layout first; ties follow the canonical order. */
export function bestFirst(a: Scored, b: Scored): number {
  if (a.shortfall !== b.shortfall) return a.shortfall - b.shortfall
  if (a.cost !== b.cost) return a.cost - b.cost
  return layoutKey(a.layout) < layoutKey(b.layout) ? -1 : 1
}

/** Gains below this fraction are rounding errors. */
const MIN_GAIN = 1e-6

export function isBetter(a: Scored, b: Scored): boolean {
  if (a.shortfall !== b.shortfall) return a.shortfall < b.shortfall * (1 - MIN_GAIN)
  return a.cost < b.cost - MIN_GAIN * Math.abs(b.cost)
}
