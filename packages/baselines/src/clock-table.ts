import { type GpuSpec, InvalidInputError, smClocksAt } from '@pctodl/platform'

/** Highest memory clock that is not an idle state, MHz. */
export function highestMemClock(spec: GpuSpec): number {
  const clock = spec.performanceMemClocksMhz[0]
  if (clock === undefined) {
    throw new InvalidInputError('spec.performanceMemClocksMhz', [], `a performance memory clock of ${spec.name}`)
  }
  return clock
}

/** SM clocks at a memory clock (default: the highest), MHz, ascending. */
export function workingSmClocks(spec: GpuSpec, memClockMhz: number = highestMemClock(spec)): readonly number[] {
  const clocks = smClocksAt(spec, memClockMhz)
  if (clocks === undefined || clocks.length === 0) {
    throw new InvalidInputError('spec.clockStates', memClockMhz, `SM clocks of ${spec.name} at this memory clock`)
  }
  return clocks
}

/** Index of the highest clock that is at most `clockMhz`; 0 if all clocks are higher. */
export function indexAtMost(clocks: readonly number[], clockMhz: number): number {
  return Math.max(
    0,
    clocks.findLastIndex((clock) => clock <= clockMhz),
  )
}

/** Start index of Morak and BatchDVFS: the middle of the clock table. */
export function middleIndex(clocks: readonly number[]): number {
  return Math.floor(clocks.length / 2)
}

/**
 * The last step of each decision in the Python code's Morak and BatchDVFS. It limits the clock to the table. If power
 * is above the cap and the clock would stay, it lowers the clock by one state.
 *
 * @param wantedIndex may be beyond the ends of the table
 * @returns index of the clock to use
 */
export function guardedIndex(
  clocks: readonly number[],
  usedIndex: number,
  wantedIndex: number,
  powerW: number,
  powerCapW: number,
): number {
  const nextIndex = Math.min(clocks.length - 1, Math.max(0, wantedIndex))
  return powerW > powerCapW && nextIndex === usedIndex ? Math.max(0, nextIndex - 1) : nextIndex
}
