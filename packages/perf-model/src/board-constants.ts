import { type GpuSpec, memoryBandwidth } from '@pctodl/platform'
import type { BoardParameters } from './parameters.js'

/** Parameters of a board, and constants that predictions derive from them. */
export interface BoardConstants {
  readonly parameters: BoardParameters
  readonly smCount: number
  readonly memClocksMhz: readonly number[]
  /** Highest SM clock of the table, MHz. Contention is computed at this clock. */
  readonly topClockMhz: number
  /** Boost clock, to which the power parameters refer, MHz. */
  readonly boostClockMhz: number
  /** Time to move one MB at peak DRAM bandwidth, for each memory clock, ms. */
  readonly msPerMb: Float64Array
  /** Power at zero activity, for each memory clock, W. */
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
 * Voltage at a clock, relative to the voltage at the boost clock. It follows a parabola, is constant below the vertex,
 * and is never below a floor. Voltage tables are convex: flat where the lowest voltage serves several clocks, steep
 * near the top. The voltage never falls as the clock rises, so power rises strictly with the clock.
 *
 * @param clock relative to the boost clock
 */
export function relativeVoltage({ voltageSlope, voltageBend, voltageFloor }: BoardParameters, clock: number): number {
  const below = Math.min(1 - clock, (0.5 * voltageSlope) / voltageBend)
  return Math.max(voltageFloor, 1 - voltageSlope * below + voltageBend * below * below)
}

/**
 * Smooth maximum of two arguments >= 0: at least the larger argument, at most sqrt(2) times it, and increasing in both.
 * It combines two stages of which the slower one sets the pace.
 */
export function smoothMax2(a: number, b: number): number {
  return Math.sqrt(a * a + b * b)
}
