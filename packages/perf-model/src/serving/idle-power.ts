import type { PerfModelParameters } from '../parameters.js'

/** Power of a board whose processes wait, W: what it draws at zero activity, and its clock tree. The model's own terms. */
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
