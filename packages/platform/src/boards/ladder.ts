export const GiB: number = 1024 ** 3
export const MiB: number = 1024 ** 2

/**
 * Supported clocks from the lowest to the highest. Steps of 7.5 MHz appear in the driver's tables rounded down (1515,
 * 1507, 1500).
 */
export function clockLadder(fromMhz: number, toMhz: number, stepMhz: number): readonly number[] {
  const count = Math.floor((toMhz - fromMhz) / stepMhz) + 1
  return Array.from({ length: count }, (_, i) => Math.floor(fromMhz + i * stepMhz))
}
