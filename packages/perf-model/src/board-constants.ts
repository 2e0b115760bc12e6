import { type GpuSpec, memoryBandwidth } from '@pctodl/platform'
import type { BoardParameters } from './parameters.js'

/** Parameters of a board, and the constants of a prediction derived from them. */
export interface BoardConstants {
  readonly parameters: BoardParameters
  readonly smCount: number
  readonly memClocksMhz: readonly number[]
  /** Highest SM clock of the table: contention is priced at it. MHz. */
  readonly topClockMhz: number
  /** Clock at which power parameters hold, MHz. */
  readonly boostClockMhz: number
  /** Time per MB at peak DRAM bandwidth by memory clock, ms. */
  readonly msPerMb: Float64Array
  /** Power at zero activity by memory clock, W. */
  readonly idlePowerW: Float64Array
}

export function boardConstants(spec: GpuSpec, parameters: BoardParameters): BoardConstants {
  const memClocksMhz = parameters.idlePowerW.map((entry) => entry.memClockMhz)
  const table = spec.clockStates.filter((state) => memClocksMhz.includes(state.memClockMhz))
  return {
    parameters,
    smCount: spec.smCount,
    memClocksMhz,
    topClockMhz: Math.max(...table.map((state) => state.smClocksMhz.at(-1)!)),
    boostClockMhz: spec.boostClockMhz,
    msPerMb: Float64Array.from(memClocksMhz, (mhz) => 1e9 / memoryBandwidth(spec, mhz)),
    idlePowerW: Float64Array.from(parameters.idlePowerW, (entry) => entry.powerW),
  }
}

/**
 * The voltage at a clock, relative to that at the boost clock: a parabola, constant below its vertex and never below
 * the floor. Voltage tables are convex: flat where the lowest voltage serves several clocks, steep near the top. It
 * never falls with the clock, so power rises strictly with it.
 *
 * @param clock relative to the boost clock
 */
export function relativeVoltage({ voltageSlope, voltageBend, voltageFloor }: BoardParameters, clock: number): number {
  const below = Math.min(1 - clock, (0.5 * voltageSlope) / voltageBend)
  return Math.max(voltageFloor, 1 - voltageSlope * below + voltageBend * below * below)
}

/**
 * Smooth maximum of two arguments >= 0, used where the slower of two stages sets the pace: never below the larger
 * argument, at most sqrt(2) times it, and increasing in both.
 */
export function smoothMax2(a: number, b: number): number {
  return Math.sqrt(a * a + b * b)
}
