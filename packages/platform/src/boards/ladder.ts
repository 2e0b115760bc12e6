export const GiB: number = 1024 ** 3
export const MiB: number = 1024 ** 2

/**
 * Returns the supported clocks from the lowest to the highest, MHz. If steps are 7.5 MHz, values are rounded down as in
 * the driver's tables (1515, 1507, 1500).
 */
export function clockLadder(fromMhz: number, toMhz: number, stepMhz: number): readonly number[] {
  const count = Math.floor((toMhz - fromMhz) / stepMhz) + 1
  return Array.from({ length: count }, (_, i) => Math.floor(fromMhz + i * stepMhz))
}
