import { type GpuSpec, InvalidInputError, smClocksAt } from '@pctodl/platform'
import type { ClockRange } from '../control/board-change.js'

/** @throws InvalidInputError unless both ends are SM clocks that the board has at this memory clock */
export function assertSmRange(spec: GpuSpec, memClockMhz: number, { minMhz, maxMhz }: ClockRange): void {
  const states = smClocksAt(spec, memClockMhz) ?? []
  for (const [field, mhz] of [
    ['minMhz', minMhz],
    ['maxMhz', maxMhz],
  ] as const) {
    if (!states.includes(mhz)) {
      const range = `${states[0]} to ${states.at(-1)} MHz (${states.length} states)`
      throw new InvalidInputError(`smClock.${field}`, mhz, `a supported state of ${spec.name}: ${range}`)
    }
  }
  if (minMhz > maxMhz) throw new InvalidInputError('smClock', { minMhz, maxMhz }, 'minMhz of at most maxMhz')
}
