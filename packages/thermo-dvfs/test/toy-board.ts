import { SeededRandom } from '@pctodl/numerics'
import type { BoardSeen, ClockStatus } from '../src/clock-step.js'
import type { ClockController, ClockObservation } from '../src/index.js'

export const clocksMhz: readonly number[] = Array.from({ length: 81 }, (_, i) => 210 + 15 * i)

/** Power of the model in these tests at a clock, W: static power, plus power that rises with the place in the table. */
export function modelAt(clockMhz: number): number {
  const place = Math.min(1, Math.max(0, (clockMhz - 210) / 1200))
  return ((3e-8 * clockMhz - 5e-5) * clockMhz + 0.025) * clockMhz + 25 + (30 + 170 * place ** 1.2)
}

export interface BoardOptions {
  readonly seed?: number
  /** True power for the model's power, W. */
  readonly truth?: (modelW: number) => number
  /** Standard deviation of white noise on the instant reading, W. */
  readonly instantNoiseW?: number
  /** Noise of the plain reading in addition to its averaging, W. */
  readonly averageNoiseW?: number
  readonly quantumW?: number
  /** Fraction of the samples that never arrive, 0..1. */
  readonly dropped?: number
  /** Standard deviation of a true ripple that is renewed every 50 ms, W. */
  readonly rippleW?: number
  /** Power that leakage adds as the board warms up, as a fraction of the power; time constant 20 s. */
  readonly leakage?: number
  readonly actuationMs?: number
}

const TICK_MS = 10
const TICKS_PER_SECOND = 1000 / TICK_MS

/**
 * A board reduced to what the controller observes. Power follows the clock after the actuation delay and warms up by a
 * first-order lag. It is read through a one-second running average, renewed every 100 ms, and a noisy, quantised
 * instant reading.
 */
export class ToyBoard {
  readonly #options: Required<BoardOptions>
  readonly #random: SeededRandom
  readonly #second = new Float64Array(TICKS_PER_SECOND)
  #tick = 0
  #sum = 0
  #warmth = 0
  #rippleW = 0
  #requests: { atMs: number; clockMhz: number }[] = []
  clockMhz: number
  /** Fraction of the tenants' dynamic power that is drawn, 0..1; less than 1 while tenants load. */
  activity = 1
  /** Scales the true power from now on: a change of load that the model does not know. */
  loadFactor = 1
  powerW = 0
  /** True mean over the last second, W. */
  secondW = 0
  averageReadingW: number | null = null
  instantReadingW: number | null = null

  constructor(
    options: BoardOptions,
    readonly modelAt: (clockMhz: number) => number,
    clockMhz = 210,
  ) {
    this.#options = {
      seed: 1,
      truth: (modelW) => modelW,
      instantNoiseW: 2,
      averageNoiseW: 0.3,
      quantumW: 0.01,
      dropped: 0,
      rippleW: 0,
      leakage: 0,
      actuationMs: 30,
      ...options,
    }
    this.#random = new SeededRandom(this.#options.seed)
    this.clockMhz = clockMhz
  }

  get timeMs(): number {
    return this.#tick * TICK_MS
  }

  request(clockMhz: number): void {
    this.#requests.push({ atMs: this.timeMs + this.#options.actuationMs, clockMhz })
  }

  /** Let 10 ms pass. */
  tick(): void {
    const o = this.#options
    this.#tick++
    while (this.#requests[0] && this.#requests[0].atMs <= this.timeMs) this.clockMhz = this.#requests.shift()!.clockMhz
    if (this.#tick % 5 === 0) this.#rippleW = o.rippleW * this.#random.normal()
    const idleW = 40
    const loadedW = o.truth(this.modelAt(this.clockMhz)) * this.loadFactor
    this.powerW = idleW + (loadedW - idleW) * this.activity * (1 + o.leakage * this.#warmth) + this.#rippleW
    this.#warmth += ((this.powerW / 150 - this.#warmth) * TICK_MS) / 20_000
    const slot = this.#tick % TICKS_PER_SECOND
    this.#sum += this.powerW - this.#second[slot]!
    this.#second[slot] = this.powerW
    this.secondW = this.#sum / Math.min(this.#tick, TICKS_PER_SECOND)
    if (this.#tick % 10 === 7) {
      this.averageReadingW = this.#quantised(this.secondW + o.averageNoiseW * this.#random.normal())
      this.instantReadingW = this.#quantised(this.powerW + o.instantNoiseW * this.#random.normal())
    }
  }

  read(
    reading: 'one-second-average' | 'part-time' | 'both',
  ): Pick<ClockObservation, 'powerAverageW' | 'powerInstantW'> {
    if (this.#random.uniform() < this.#options.dropped) return { powerAverageW: null, powerInstantW: null }
    return {
      powerAverageW: reading === 'part-time' ? this.instantReadingW : this.averageReadingW,
      powerInstantW: reading === 'both' ? this.instantReadingW : null,
    }
  }

  #quantised(powerW: number): number {
    return Math.round(powerW / this.#options.quantumW) * this.#options.quantumW
  }
}

export interface Trace {
  readonly timeMs: number[]
  readonly secondW: number[]
  readonly powerW: number[]
  readonly capW: number[]
  readonly clockMhz: number[]
  readonly status: ClockStatus[]
  readonly seen: BoardSeen[]
}

export interface RunOptions {
  readonly durationMs: number
  readonly reading?: 'one-second-average' | 'part-time' | 'both'
  readonly capAt: (timeMs: number) => number
  readonly loadingUntilMs?: number
  /** Called before each step; may change the board and the controller's observation. */
  readonly disturb?: (timeMs: number, seen: ClockObservation) => ClockObservation
}

/** Run a controller on a board, ten steps a second. */
export function run(controller: ClockController, board: ToyBoard, options: RunOptions): Trace {
  const trace: Trace = { timeMs: [], secondW: [], powerW: [], capW: [], clockMhz: [], status: [], seen: [] }
  const { reading = 'both', loadingUntilMs = 0 } = options
  const endMs = board.timeMs + options.durationMs
  while (board.timeMs < endMs) {
    const timeMs = board.timeMs
    const powerCapW = options.capAt(timeMs)
    const loading = timeMs < loadingUntilMs
    if (loadingUntilMs > 0) board.activity = loading ? 0.2 : 1
    const seen = { timeMs, powerCapW, ...board.read(reading), smClockMhz: board.clockMhz, loading }
    const action = controller.step(options.disturb?.(timeMs, seen) ?? seen)
    board.request(action.smClockMhz)
    for (let i = 0; i < 10; i++) {
      board.tick()
      trace.timeMs.push(board.timeMs)
      trace.secondW.push(board.secondW)
      trace.powerW.push(board.powerW)
      trace.capW.push(powerCapW)
      trace.clockMhz.push(action.smClockMhz)
      trace.status.push(action.status)
      trace.seen.push(action.seen)
    }
  }
  return trace
}

export interface Metrics {
  /** Percentage of the time in which the one-second mean is more than 1 % above the cap. */
  readonly violationPercent: number
  /** Energy above the cap relative to the cap's energy, percent. */
  readonly excessEnergyPercent: number
  /** Highest one-second mean above the cap, percent of the cap. */
  readonly peakPercent: number
  /** Mean power relative to the mean cap, percent. */
  readonly utilisationPercent: number
  /** Longest time above the cap plus 1 %, ms. */
  readonly longestMs: number
  readonly changes: number
}

/** Measures of a part of a trace. */
export function measure(trace: Trace, fromMs: number, toMs: number = Number.POSITIVE_INFINITY): Metrics {
  let violations = 0
  let excess = 0
  let capSum = 0
  let powerSum = 0
  let peak = 0
  let longest = 0
  let current = 0
  let changes = 0
  let count = 0
  trace.timeMs.forEach((timeMs, i) => {
    if (timeMs < fromMs || timeMs > toMs) return
    const capW = trace.capW[i]!
    const over = trace.secondW[i]! > capW * 1.01
    count++
    if (over) violations++
    current = over ? current + 1 : 0
    longest = Math.max(longest, current)
    excess += Math.max(0, trace.powerW[i]! - capW)
    capSum += capW
    powerSum += trace.powerW[i]!
    peak = Math.max(peak, (100 * (trace.secondW[i]! - capW)) / capW)
    if (i > 0 && trace.clockMhz[i] !== trace.clockMhz[i - 1]) changes++
  })
  return {
    violationPercent: (100 * violations) / count,
    excessEnergyPercent: (100 * excess) / capSum,
    peakPercent: peak,
    utilisationPercent: (100 * powerSum) / capSum,
    longestMs: longest * TICK_MS,
    changes,
  }
}

/** Time until the one-second mean stays within [95 %, 101 %] of the cap for 30 s, ms; infinite if it never does. */
export function settlingMs(trace: Trace, fromMs: number): number {
  let since = Number.POSITIVE_INFINITY
  for (let i = 0; i < trace.timeMs.length; i++) {
    const timeMs = trace.timeMs[i]!
    if (timeMs < fromMs) continue
    const ratio = trace.secondW[i]! / trace.capW[i]!
    if (ratio < 0.95 || ratio > 1.01) since = Number.POSITIVE_INFINITY
    else if (since > timeMs) since = timeMs
    if (timeMs - since >= 30_000) return since - fromMs
  }
  return Number.POSITIVE_INFINITY
}
