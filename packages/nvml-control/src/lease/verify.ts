import type { Clock } from '@pctodl/platform'
import type { BoardChange, ClockRange } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { type ClockPlace, placeOf, TOLERANCE_MHZ } from './judge-clock.js'
import { SetterNotAppliedError } from './lease-errors.js'

const POLL_MS = 5

export interface VerifyOptions {
  readonly clock: Clock
  /** Time within which a change must appear in readings, ms. */
  readonly deadlineMs: number
}

/**
 * Reads a setting until it shows the change. The removal of a clock lock cannot be read, and is taken to have worked.
 *
 * @throws SetterNotAppliedError after the deadline
 * @throws NvmlError if the setting cannot be read
 */
export async function verifyApplied(device: NvmlDevice, change: BoardChange, options: VerifyOptions): Promise<void> {
  const { clock, deadlineMs } = options
  const startMs = clock.now()
  let observed = observe(device, change)
  while (!observed.applied) {
    const waitedMs = clock.now() - startMs
    if (waitedMs >= deadlineMs) {
      throw new SetterNotAppliedError(device.subject, change, observed.text, Math.round(waitedMs))
    }
    await clock.sleep(POLL_MS)
    observed = observe(device, change)
  }
}

/**
 * Power limits that differ by at most this much count as equal, W. NVML accepts milliwatts; other tools set limits with
 * two decimals.
 */
const POWER_LIMIT_TOLERANCE_W = 0.05

/** The current state of a setting. */
export interface Observation {
  readonly applied: boolean
  readonly text: string
  /** Of a locked clock. */
  readonly clockMhz?: number
  readonly place?: ClockPlace
}

/** @throws NvmlError */
export function observe(device: NvmlDevice, change: BoardChange): Observation {
  switch (change.kind) {
    case 'sm-clock':
      return observeClock(device, change.range, () => device.smClockMhz())
    case 'mem-clock':
      return observeClock(device, change.range, () => device.memClockMhz())
    case 'power-limit': {
      const limitW = device.powerLimitW()
      return { applied: Math.abs(limitW - change.powerLimitW) <= POWER_LIMIT_TOLERANCE_W, text: String(limitW) }
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

function observeClock(device: NvmlDevice, range: ClockRange | null, read: () => number): Observation {
  if (!range) return { applied: true, text: 'no lock' }
  const reading = read()
  const place = placeOf(reading, range.maxMhz, device.eventReasons())
  const applied =
    place === 'top' || place === 'held-below' || (place === 'below' && reading >= range.minMhz - TOLERANCE_MHZ)
  return { applied, text: `${reading} MHz`, clockMhz: reading, place }
}
