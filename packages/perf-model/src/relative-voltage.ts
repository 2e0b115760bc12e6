import type { BoardParameters } from './parameters.js'

/**
 * The voltage at a clock, in parts of that at the boost clock: a parabola that ends in its vertex and goes no lower than the
 * floor. Voltage tables are convex: flat where the lowest voltage serves several clocks, steep near the top. It never falls with
 * the clock, so power rises strictly with it.
 *
 * @param clock in parts of the boost clock
 */
export function relativeVoltage({ voltageSlope, voltageBend, voltageFloor }: BoardParameters, clock: number): number {
  const below = Math.min(1 - clock, (0.5 * voltageSlope) / voltageBend)
  return Math.max(voltageFloor, 1 - voltageSlope * below + voltageBend * below * below)
}
