import type { GpuSpec } from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import type { SteadyState } from './steady-state.js'

/** Parts of a board's power, W. */
export interface PowerBreakdown {
  readonly staticW: number
  readonly leakageW: number
  readonly dynamicW: number
  readonly totalW: number
}

/** Half the width of the bend of a `rounded` voltage curve, as a fraction of the boost clock. */
const BEND = 0.05

/** Core voltage relative to the voltage at the boost clock. It falls with the clock down to a constant floor. */
export function relativeVoltage(spec: GpuSpec, { power }: Pick<BoardPhysics, 'power'>, smClockMhz: number): number {
  const { voltageSlope: slope, voltageFloor: floor } = power
  const clock = smClockMhz / spec.boostClockMhz
  if (power.voltageCurve === 'knee') return Math.max(floor, 1 - slope * (1 - clock))
  const kneeAt = 1 - (1 - floor) / slope
  if (power.voltageCurve === 'rounded') {
    const above = (at: number) => floor + slope * BEND * Math.log1p(Math.exp((at - kneeAt) / BEND))
    return above(clock) / above(1)
  }
  const from = 1 - 1.5 * (1 - kneeAt)
  return clock <= from ? floor : floor + (1 - floor) * ((clock - from) / (1 - from)) ** 2
}

/**
 * Board power of a load at given clocks and temperature. It is the sum of board and DRAM background, leakage, and
 * dynamic power. Dynamic power is activity x V^2 x f for clocked structures, V^2 per operation and per byte on the
 * chip, and a constant energy per DRAM byte.
 */
export function boardPower(
  spec: GpuSpec,
  physics: BoardPhysics,
  state: Pick<SteadyState, 'busySms' | 'flopPerS' | 'l2BytesPerS' | 'dramBytesPerS'> &
    Partial<Pick<SteadyState, 'vectorOpsPerS'>>,
  smClockMhz: number,
  memClockMhz: number,
  temperatureC: number,
): PowerBreakdown {
  const { power } = physics
  const voltage = relativeVoltage(spec, physics, smClockMhz)
  const squared = voltage * voltage
  const clocked = squared * (smClockMhz / spec.boostClockMhz)
  const staticW = power.boardW + power.dramBackgroundWPerMhz * memClockMhz
  const leakageW = power.leakageW * voltage * Math.exp((temperatureC - power.leakageReferenceC) / power.leakageScaleK)
  const dynamicW =
    clocked * (power.clockTreeW + power.busySmW * state.busySms) +
    1e-12 *
      squared *
      (power.flopPj * state.flopPerS +
        power.vectorOpPj * (state.vectorOpsPerS ?? 0) +
        power.l2BytePj * state.l2BytesPerS) +
    1e-12 * power.dramBytePj * state.dramBytesPerS
  return { staticW, leakageW, dynamicW, totalW: staticW + leakageW + dynamicW }
}

/**
 * Power and temperature in thermal equilibrium. They are found together: power heats the board, and heat raises
 * leakage.
 */
export function settledPower(
  spec: GpuSpec,
  physics: BoardPhysics,
  state: SteadyState,
  smClockMhz: number,
  memClockMhz: number,
): PowerBreakdown & { readonly temperatureC: number } {
  const { thermal } = physics
  let temperatureC = thermal.ambientC + 30
  for (let i = 0; i < 30; i++) {
    const { totalW } = boardPower(spec, physics, state, smClockMhz, memClockMhz, temperatureC)
    temperatureC = Math.min(thermal.ambientC + thermal.resistance * totalW, spec.thermalLimitC)
  }
  return { ...boardPower(spec, physics, state, smClockMhz, memClockMhz, temperatureC), temperatureC }
}
