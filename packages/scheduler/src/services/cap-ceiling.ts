import { type GpuSpec, smClocksAt, type Telemetry } from '@pctodl/platform'

interface Reading {
  readonly timeMs: number
  readonly energyJ: number
}

/** A part of the cap that a second may miss, and by which the next ones are lowered. */
const SLACK = 0.985
/** States that the ceiling rises a sample while the second leaves room. */
const RISE = 2
/** Below the cap by so much, power leaves room for all clocks. */
const ROOM = 0.9
/** Without a reading for so long, the ceiling goes down a state a sample, ms. */
const BLIND_MS = 1000

/**
 * The highest clock that the cap allows, by measured power alone: it remembers no power law, so part load teaches it nothing. Where
 * the board's own limit can hold the cap, the firmware trims and the ceiling takes back what a second still exceeds. Where it
 * cannot, power is extrapolated along the busy tenants' curve from the last reading.
 */
export class CapCeiling {
  readonly #spec: GpuSpec
  readonly #readings: Reading[] = []
  #integralJ = 0
  #index = Number.POSITIVE_INFINITY
  #secondW: number | null = null
  #recentW: number | null = null
  #seenMs = 0

  constructor(spec: GpuSpec) {
    this.#spec = spec
  }

  /** Mean power of the last second, W; null where nothing was read. */
  get secondW(): number | null {
    return this.#secondW
  }

  /** The board's limit can hold the cap. */
  holdable(powerCapW: number): boolean {
    return powerCapW >= this.#spec.powerLimitW.min
  }

  /**
   * @param busyW power of the busy tenants at each clock, W, ascending
   * @returns MHz
   */
  step(timeMs: number, powerCapW: number, telemetry: Telemetry, memClockMhz: number, busyW: readonly number[]): number {
    this.#read(timeMs, telemetry)
    const clocks = smClocksAt(this.#spec, memClockMhz)!
    const top = clocks.length - 1
    let running = top
    while (running > 0 && clocks[running]! > (telemetry.smClockMhz ?? clocks[top]!)) running--
    this.#index = Math.min(top, this.#index)
    if (timeMs - this.#seenMs > BLIND_MS) this.#index = Math.max(0, this.#index - 1)
    else if (this.#secondW !== null && this.#recentW !== null) {
      const excess = Math.max(0, this.#secondW / powerCapW - 1)
      const fraction = this.#recentW / powerCapW + excess
      const allowed = highest(busyW, busyW[running]! / fraction)
      if (this.holdable(powerCapW)) {
        if (this.#secondW > 1.002 * powerCapW) this.#index = Math.min(this.#index, running, allowed)
        else if (this.#secondW < SLACK * powerCapW) this.#index = Math.min(top, this.#index + RISE)
        if (this.#secondW < ROOM * powerCapW) this.#index = top
      } else this.#index = allowed
    }
    return clocks[this.#index]!
  }

  #read(timeMs: number, { energyJ, powerInstantW, powerAverageW }: Telemetry): void {
    const powerW = powerInstantW ?? powerAverageW
    const before = this.#readings.at(-1)
    if (energyJ === null && powerW === null) return
    this.#seenMs = timeMs
    if (energyJ !== null) this.#integralJ = energyJ
    else if (before) this.#integralJ += (powerW! * (timeMs - before.timeMs)) / 1000
    if (before && (this.#integralJ < before.energyJ || timeMs <= before.timeMs)) this.#readings.length = 0
    this.#readings.push({ timeMs, energyJ: this.#integralJ })
    while (timeMs - this.#readings[0]!.timeMs > 1000) this.#readings.shift()
    this.#secondW = this.#mean(this.#readings[0])
    this.#recentW = this.#mean(this.#readings.at(-3) ?? this.#readings[0])
  }

  #mean(from: Reading | undefined): number | null {
    const to = this.#readings.at(-1)
    if (!from || !to || to.timeMs <= from.timeMs) return null
    return (1000 * (to.energyJ - from.energyJ)) / (to.timeMs - from.timeMs)
  }
}

function highest(busyW: readonly number[], powerW: number): number {
  let index = busyW.length - 1
  while (index > 0 && busyW[index]! > powerW) index--
  return index
}
