import type { Clock } from '@pctodl/platform'
import type { BoardChange, ClockRange } from '../control/board-change.js'
import type { NvmlDevice } from '../nvml/nvml-device.js'
import { isApplied, readSetting } from './board-settings.js'
import { judgeClock } from './judge-clock.js'
import { SetterNotAppliedError } from './lease-errors.js'

const POLL_MS = 5

export interface VerifyOptions {
  readonly clock: Clock
  /** How long a change may take to show, ms. */
  readonly deadlineMs: number
}

/**
 * Read a change back until it shows. A reset clock lock cannot be told from any other state and is taken at its word.
 *
 * @throws SetterNotAppliedError after the deadline
 * @throws NvmlError where it cannot be read
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

export interface Observation {
  readonly applied: boolean
  readonly text: string
}

/** What the board shows of a change now. @throws NvmlError */
export function observe(device: NvmlDevice, change: BoardChange): Observation {
  switch (change.kind) {
    case 'sm-clock':
      return observeClock(device, change.range, () => device.smClockMhz())
    case 'mem-clock':
      return observeClock(device, change.range, () => device.memClockMhz())
    default: {
      const setting = readSetting(device, change.kind)
      return { applied: isApplied(change, setting), text: String(setting) }
    }
  }
}

function observeClock(device: NvmlDevice, range: ClockRange | null, read: () => number): Observation {
  if (!range) return { applied: true, text: 'no lock' }
  const reading = read()
  const reasons = device.eventReasons()
  const verdict = judgeClock(reading, range, reasons)
  return { applied: verdict !== 'not-applied', text: `${reading} MHz` }
}
