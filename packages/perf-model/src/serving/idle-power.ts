import type { PerfModelParameters } from '../parameters.js'

/**
 * Power of a board with idle processes, W: power at zero activity plus the clock tree's power, at a voltage linear in
 * the clock.
 */
export function idlePower(
  { boardParameters }: PerfModelParameters,
  boostClockMhz: number,
  smClockMhz: number,
  memClockMhz: number,
): number {
  const { idlePowerW, clockTreePowerW, voltageSlope, voltageFloor } = boardParameters
  const clock = smClockMhz / boostClockMhz
  const voltage = Math.max(voltageFloor, 1 - voltageSlope * (1 - clock))
  const idleW = idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!.powerW
  return idleW + voltage * voltage * clock * clockTreePowerW
}
