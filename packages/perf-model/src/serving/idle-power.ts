import { relativeVoltage } from '../board-constants.js'
import type { PerfModelParameters } from '../parameters.js'

/** Power of a board with idle processes, W: power at zero activity plus the clock tree's power. */
export function idlePower(
  { boardParameters }: PerfModelParameters,
  boostClockMhz: number,
  smClockMhz: number,
  memClockMhz: number,
): number {
  const clock = smClockMhz / boostClockMhz
  const voltage = relativeVoltage(boardParameters, clock)
  const { powerW } = boardParameters.idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!
  return powerW + voltage * voltage * clock * boardParameters.clockTreePowerW
}
