/** All compute modes; the array index is NVML's number. Current drivers refuse to set `exclusive-thread`. */
export const computeModes = ['default', 'exclusive-thread', 'prohibited', 'exclusive-process'] as const

/** Which processes may create a CUDA context on a board. */
export type ComputeMode = (typeof computeModes)[number]

/** A range of clocks from which the firmware chooses, MHz. For a single clock, both ends are equal. */
export interface ClockRange {
  readonly minMhz: number
  readonly maxMhz: number
}

/** One change of a board setting, as plain data. It can be undone, and applied directly or by the node service. */
export type BoardChange =
  | { readonly kind: 'power-limit'; readonly powerLimitW: number }
  /** `null` removes the lock, so that the firmware chooses the clock. */
  | { readonly kind: 'sm-clock' | 'mem-clock'; readonly range: ClockRange | null }
  | { readonly kind: 'compute-mode'; readonly mode: ComputeMode }
  | { readonly kind: 'persistence'; readonly enabled: boolean }

export type ChangeKind = BoardChange['kind']

/** Settings in the order of restoration. Persistence is last: without it the driver may unload and lose the others. */
export const changeKinds = ['sm-clock', 'mem-clock', 'power-limit', 'compute-mode', 'persistence'] as const

/** The settings before a lease. A setting that the driver does not report is null. */
export interface FoundState {
  readonly powerLimitW: number | null
  readonly computeMode: ComputeMode | null
  readonly persistence: boolean | null
  /** The lock that the operator declared. NVML cannot read clock locks, so null is taken to mean "not locked". */
  readonly smClockLock: ClockRange | null
  readonly memClockLock: ClockRange | null
}

/** Name of the field that contains a setting in `FoundState` and in its `BoardChange`. */
const fields = {
  'sm-clock': ['smClockLock', 'range'],
  'mem-clock': ['memClockLock', 'range'],
  'power-limit': ['powerLimitW', 'powerLimitW'],
  'compute-mode': ['computeMode', 'mode'],
  persistence: ['persistence', 'enabled'],
} as const satisfies Record<ChangeKind, readonly [keyof FoundState, string]>

/** Returns the change that restores a setting to its original value; null if that value is unknown. */
export function changeBack(kind: ChangeKind, found: FoundState): BoardChange | null {
  const [foundField, field] = fields[kind]
  const value = found[foundField]
  // If the board had no lock, the change removes the lock of the lease.
  return value === null && field !== 'range' ? null : ({ kind, [field]: value } as BoardChange)
}

/** Returns a copy of `found` in which one setting has its value in `now`. */
export function foundAnew(found: FoundState, kind: ChangeKind, now: FoundState): FoundState {
  const [field] = fields[kind]
  return { ...found, [field]: now[field] }
}

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
      return `SM clock ${describeRange(change.range)}`
    case 'mem-clock':
      return `memory clock ${describeRange(change.range)}`
    case 'compute-mode':
      return `compute mode ${change.mode}`
    case 'persistence':
      return `persistence ${change.enabled ? 'on' : 'off'}`
  }
}

function describeRange(range: ClockRange | null): string {
  if (!range) return 'reset'
  return range.minMhz === range.maxMhz ? `${range.maxMhz} MHz` : `${range.minMhz} to ${range.maxMhz} MHz`
}
