import type { Clock } from '@pctodl/platform'
import { SetterNotAppliedError } from '../lease/lease-errors.js'
import { eventReasonBits } from '../nvml/event-reasons.js'
import type { NvmlCallName } from '../nvml/nvml-calls.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { orNull } from '../nvml/nvml-error.js'
import { type BoardChange, computeModes, type FoundState } from './board-change.js'

const POLL_MS = 5

/** Power limits that differ by at most this much count as equal, W. Other tools set limits with two decimals. */
const POWER_LIMIT_TOLERANCE_W = 0.05

/** Clocks that differ by at most this much count as equal, MHz: the driver rounds to clocks at most 15 MHz apart. */
const TOLERANCE_MHZ = 15

/** Changes a board on another thread, because the driver takes milliseconds. @throws NvmlError `NO_PERMISSION`, ... */
export function applyChange(device: NvmlDevice, change: BoardChange): Promise<void> {
  return device.checkInBackground(...callOf(change))
}

function callOf(change: BoardChange): [NvmlCallName, ...number[]] {
  switch (change.kind) {
    case 'power-limit':
      return ['nvmlDeviceSetPowerManagementLimit', Math.round(change.powerLimitW * 1000)]
    case 'sm-clock':
    case 'mem-clock': {
      const clocks = change.kind === 'sm-clock' ? 'GpuLockedClocks' : 'MemoryLockedClocks'
      const { range } = change
      return range ? [`nvmlDeviceSet${clocks}`, range.minMhz, range.maxMhz] : [`nvmlDeviceReset${clocks}`]
    }
    case 'compute-mode':
      return ['nvmlDeviceSetComputeMode', computeModes.indexOf(change.mode)]
    case 'persistence':
      return ['nvmlDeviceSetPersistenceMode', change.enabled ? 1 : 0]
  }
}

/**
 * Reads a setting until it shows the change. Whether a clock lock was removed cannot be read; success is assumed.
 * @throws SetterNotAppliedError after the deadline; NvmlError if the setting cannot be read
 */
export async function verifyApplied(
  device: NvmlDevice,
  change: BoardChange,
  { clock, deadlineMs }: { readonly clock: Clock; readonly deadlineMs: number },
): Promise<void> {
  const startMs = clock.now()
  for (;;) {
    const { applied, text } = observe(device, change)
    if (applied) return
    const waitedMs = clock.now() - startMs
    if (waitedMs >= deadlineMs) throw new SetterNotAppliedError(device.subject, change, text, Math.round(waitedMs))
    await clock.sleep(POLL_MS)
  }
}

/** Returns the current settings of a board. NVML cannot read clock locks, so the caller passes them. */
export function foundState(
  device: NvmlDevice,
  { smClockLock, memClockLock }: Pick<FoundState, 'smClockLock' | 'memClockLock'>,
): FoundState {
  return {
    powerLimitW: orNull(() => device.powerLimitW()),
    computeMode: orNull(() => device.computeMode()),
    persistence: orNull(() => device.persistence()),
    smClockLock,
    memClockLock,
  }
}

export interface Observation {
  readonly applied: boolean
  readonly text: string
  /** Of a locked clock. */
  readonly clockMhz?: number
  readonly place?: ClockPlace
}

export function observe(device: NvmlDevice, change: BoardChange): Observation {
  switch (change.kind) {
    case 'power-limit': {
      const limitW = device.powerLimitW()
      return { applied: Math.abs(limitW - change.powerLimitW) <= POWER_LIMIT_TOLERANCE_W, text: String(limitW) }
    }
    case 'sm-clock':
    case 'mem-clock': {
      const { kind, range } = change
      if (!range) return { applied: true, text: 'no lock' }
      const clockMhz = kind === 'sm-clock' ? device.smClockMhz() : device.memClockMhz()
      const place = placeOf(clockMhz, range.maxMhz, device.eventReasons())
      const isInRange = place === 'below' && clockMhz >= range.minMhz - TOLERANCE_MHZ
      const applied = place === 'top' || place === 'held-below' || isInRange
      return { applied, text: `${clockMhz} MHz`, clockMhz, place }
    }
    case 'compute-mode': {
      const mode = device.computeMode()
      return { applied: mode === change.mode, text: mode }
    }
    case 'persistence': {
      const enabled = device.persistence()
      return { applied: enabled === change.enabled, text: String(enabled) }
    }
  }
}

/**
 * Position of a clock reading relative to the maximum of its lock. `held-below`: an event reason lowers the clock, so
 * the reading does not show whether the lock is in force.
 */
export type ClockPlace = 'above' | 'top' | 'held-below' | 'below'

/** All event reasons except those of application and display clocks, which do not act below a lock. */
const HOLDING = Object.entries(eventReasonBits)
  .filter(([reason]) => !reason.endsWith('-clocks-setting'))
  .reduce((bits, [, bit]) => bits | bit, 0)

export function placeOf(readingMhz: number, maxMhz: number, eventReasons: number): ClockPlace {
  if (readingMhz > maxMhz + TOLERANCE_MHZ) return 'above'
  if (readingMhz >= maxMhz - TOLERANCE_MHZ) return 'top'
  return (eventReasons & HOLDING) !== 0 ? 'held-below' : 'below'
}
