import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { BoardChange, ChangeKind, ClockRange } from '../control/board-change.js'
import { assertSmRange } from './assert-sm-range.js'
import type { FoundState } from './lease-record.js'

/**
 * The change that locks the SM clock.
 *
 * @param clock one clock, or a range that the firmware may choose from, MHz
 * @param memClockMhz in force: it decides which SM clocks there are
 * @throws InvalidInputError unless both ends are SM clocks that the board has at this memory clock
 */
export function smClockChange(spec: GpuSpec, memClockMhz: number, clock: number | ClockRange): BoardChange {
  const { minMhz, maxMhz } = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
  assertSmRange(spec, memClockMhz, { minMhz, maxMhz })
  return { kind: 'sm-clock', range: { minMhz, maxMhz } }
}

/** The memory clock in force by a lease that has locked this one, or none, MHz. */
export function memClockInForce(spec: GpuSpec, found: FoundState, lockedMhz: number | null | undefined): number {
  return lockedMhz ?? found.memClockLock?.maxMhz ?? spec.performanceMemClocksMhz[0]!
}

/** The change that locks the memory clock. @throws InvalidInputError for a clock that the board has not */
export function memClockChange({ clockStates, name }: GpuSpec, memClockMhz: number): BoardChange {
  if (!clockStates.some((state) => state.memClockMhz === memClockMhz)) {
    const states = clockStates.map((state) => state.memClockMhz).join(', ')
    throw new InvalidInputError('memClockMhz', memClockMhz, `one of ${states} on ${name}`)
  }
  return { kind: 'mem-clock', range: { minMhz: memClockMhz, maxMhz: memClockMhz } }
}

/**
 * The change by which a setting goes back: clocks to the lock that was found, or to the firmware; modes to what was found; the power
 * limit to the board's default. Null where what was found is not known.
 */
export function resetChange(kind: ChangeKind, spec: GpuSpec, found: FoundState): BoardChange | null {
  switch (kind) {
    case 'sm-clock':
      return { kind, range: found.smClockLock }
    case 'mem-clock':
      return { kind, range: found.memClockLock }
    case 'power-limit':
      return { kind, powerLimitW: spec.powerLimitW.default }
    case 'compute-mode':
      return found.computeMode === null ? null : { kind, mode: found.computeMode }
    case 'persistence':
      return found.persistence === null ? null : { kind, enabled: found.persistence }
  }
}
