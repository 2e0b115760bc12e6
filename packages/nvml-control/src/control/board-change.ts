import type { ComputeMode } from '../nvml/compute-mode.js'

/** A range of clocks from which the firmware chooses, MHz. For a single clock, both ends are equal. */
export interface ClockRange {
  readonly minMhz: number
  readonly maxMhz: number
}

/**
 * One change of a board setting, as plain data. It can be listed, undone, and applied directly or through the node
 * service.
 */
export type BoardChange =
  | { readonly kind: 'power-limit'; readonly powerLimitW: number }
  /** `null` removes the lock, so that the firmware chooses the clock. */
  | { readonly kind: 'sm-clock' | 'mem-clock'; readonly range: ClockRange | null }
  | { readonly kind: 'compute-mode'; readonly mode: ComputeMode }
  | { readonly kind: 'persistence'; readonly enabled: boolean }

export type ChangeKind = BoardChange['kind']

/**
 * All kinds of settings, in the order in which they are restored. Persistence is last, because without it the driver
 * may unload and lose the other settings.
 */
export const changeKinds = ['sm-clock', 'mem-clock', 'power-limit', 'compute-mode', 'persistence'] as const

/** Whether two changes of the same setting have the same value. */
export function isSameChange(one: BoardChange | null, other: BoardChange): boolean {
  const values = (change: BoardChange) =>
    'range' in change ? [change.range?.minMhz, change.range?.maxMhz] : Object.values(change)
  return one?.kind === other.kind && values(one).join() === values(other).join()
}

/** Describes a change, e.g. `SM clock 1005 MHz` or `power limit 250 W`. */
export function describeChange(change: BoardChange): string {
  switch (change.kind) {
    case 'power-limit':
      return `power limit ${change.powerLimitW} W`
    case 'sm-clock':
    case 'mem-clock': {
      const what = change.kind === 'sm-clock' ? 'SM clock' : 'memory clock'
      return `${what} ${change.range ? describeRange(change.range) : 'reset'}`
    }
    case 'compute-mode':
      return `compute mode ${change.mode}`
    case 'persistence':
      return `persistence ${change.enabled ? 'on' : 'off'}`
  }
}

export function describeRange({ minMhz, maxMhz }: ClockRange): string {
  return minMhz === maxMhz ? `${maxMhz} MHz` : `${minMhz} to ${maxMhz} MHz`
}
