import { type GpuSpec, InvalidInputError, smClocksAt, snapNearest } from '@pctodl/platform'

/** SM clocks from a minimum to a maximum in steps, both ends included, MHz. */
export interface ClockRange {
  readonly fromMhz?: number
  readonly toMhz?: number
  /** Default 150. */
  readonly stepMhz?: number
}

/**
 * Returns the supported SM clocks nearest to the values of a range, ascending, MHz.
 *
 * @param memClockMhz memory clock at which the SM clocks must be supported; null for the board's first performance
 *   memory clock
 * @throws InvalidInputError for a memory clock that the board does not have, or a range whose end is below its start
 */
export function clocksOfRange(spec: GpuSpec, memClockMhz: number | null, range: ClockRange = {}): number[] {
  const states = statesAt(spec, memClockMhz)
  const { fromMhz = states[0]!, toMhz = states.at(-1)!, stepMhz = 150 } = range
  if (fromMhz > toMhz) throw new InvalidInputError('clock range', `${fromMhz}..${toMhz}`, 'a start of at most the end')
  const clocks = new Set<number>()
  for (let clock = fromMhz; clock < toMhz; clock += stepMhz) clocks.add(snapNearest(states, clock)!)
  clocks.add(snapNearest(states, toMhz)!)
  return [...clocks]
}

/**
 * SM clocks that the board supports at a memory clock, MHz. Null stands for the board's first performance memory clock.
 *
 * @throws InvalidInputError for a memory clock that the board does not have
 */
export function statesAt(spec: GpuSpec, memClockMhz: number | null): readonly number[] {
  const wanted = memClockMhz ?? spec.performanceMemClocksMhz[0]!
  const states = smClocksAt(spec, wanted)
  if (!states) {
    const known = spec.clockStates.map((state) => state.memClockMhz).join(', ')
    throw new InvalidInputError('memory clock', wanted, `one of ${known} MHz on ${spec.name}`)
  }
  return states
}
