import { type GpuSpec, InvalidInputError, smClocksAt } from '@pctodl/platform'
import type { BoardChange, ChangeKind, ClockRange } from '../control/board-change.js'
import type { FoundState } from './lease-record.js'

/**
 * Returns the change that locks the SM clock.
 *
 * @param memClockMhz memory clock in force, which decides which SM clocks are available, MHz
 * @param clock one clock, or a range from which the firmware chooses, MHz
 * @throws InvalidInputError unless the board supports both ends of the range at this memory clock
 */
export function smClockChange(spec: GpuSpec, memClockMhz: number, clock: number | ClockRange): BoardChange {
  const { minMhz, maxMhz } = typeof clock === 'number' ? { minMhz: clock, maxMhz: clock } : clock
  const states = smClocksAt(spec, memClockMhz) ?? []
  for (const [field, mhz] of Object.entries({ minMhz, maxMhz })) {
    if (states.includes(mhz)) continue
    const range = `${states[0]} to ${states.at(-1)} MHz (${states.length} states)`
    throw new InvalidInputError(`smClock.${field}`, mhz, `a supported state of ${spec.name}: ${range}`)
  }
  if (minMhz > maxMhz) throw new InvalidInputError('smClock', { minMhz, maxMhz }, 'minMhz of at most maxMhz')
  return { kind: 'sm-clock', range: { minMhz, maxMhz } }
}

/**
 * Returns the memory clock in force, MHz: this lease's lock or, without it, the lock that was found or, without that,
 * the first performance memory clock.
 */
export function memClockInForce(spec: GpuSpec, found: FoundState, lockedMhz: number | null | undefined): number {
  return lockedMhz ?? found.memClockLock?.maxMhz ?? spec.performanceMemClocksMhz[0]!
}

/**
 * Returns the change that locks the memory clock. @throws InvalidInputError if the board does not support this clock
 */
export function memClockChange({ clockStates, name }: GpuSpec, memClockMhz: number): BoardChange {
  if (!clockStates.some((state) => state.memClockMhz === memClockMhz)) {
    const states = clockStates.map((state) => state.memClockMhz).join(', ')
    throw new InvalidInputError('memClockMhz', memClockMhz, `one of ${states} on ${name}`)
  }
  return { kind: 'mem-clock', range: { minMhz: memClockMhz, maxMhz: memClockMhz } }
}

/** Returns the change that restores a setting to its original value; null if that value is unknown. */
export function changeBack(kind: ChangeKind, found: FoundState): BoardChange | null {
  const { powerLimitW, computeMode, persistence } = found
  switch (kind) {
    case 'sm-clock':
      return { kind, range: found.smClockLock }
    case 'mem-clock':
      return { kind, range: found.memClockLock }
    case 'power-limit':
      return powerLimitW === null ? null : { kind, powerLimitW }
    case 'compute-mode':
      return computeMode === null ? null : { kind, mode: computeMode }
    case 'persistence':
      return persistence === null ? null : { kind, enabled: persistence }
  }
}

/**
 * Returns the change that resets a setting during a lease. The power limit is reset to the board's default; any other
 * setting is reset to its original value.
 */
export function resetChange(kind: ChangeKind, spec: GpuSpec, found: FoundState): BoardChange | null {
  return kind === 'power-limit' ? { kind, powerLimitW: spec.powerLimitW.default } : changeBack(kind, found)
}
