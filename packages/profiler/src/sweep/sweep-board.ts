import { type GpuSpec, PctodlError, type Tenant } from '@pctodl/platform'
import { measureRow } from '../measure/measure-row.js'
import type { ProfileRow } from '../measure/profile-row.js'
import type { ProfiledBoard } from '../measure/profiled-board.js'
import { statesAt } from '../plan/clock-range.js'
import { defaultMeasure, type MeasureOptions, type PlannedRow } from '../plan/profile-plan.js'
import { findKnee, type KneePoint } from './find-knee.js'

/** What a sweep varies: locked SM clocks, or power limits under which the firmware chooses the SM clock. */
export type SweptSetting = 'clocks' | 'limits'

export interface SweepOptions {
  readonly tenants: readonly Tenant[]
  readonly over: SweptSetting
  /** Memory clock to lock, MHz; null leaves it to the firmware. */
  readonly memClockMhz: number | null
  readonly measure?: Partial<MeasureOptions>
  readonly signal?: AbortSignal | undefined
  /** Called with each row as soon as it is measured. */
  readonly onRow?: (point: KneePoint, row: ProfileRow) => void
}

export interface Sweep {
  readonly over: SweptSetting
  /** The point with the most throughput per watt. */
  readonly best: KneePoint
  /** The point at the highest setting, if it was measured: the board as without a lock or limit. */
  readonly highest: KneePoint | undefined
  /** All measured points, in the order of measurement. */
  readonly points: readonly KneePoint[]
}

/**
 * Finds the SM clock or power limit with the most throughput per watt for given tenants, from a few measurements under
 * one lease. At the end, including after an error, it stops the processes and restores clocks and limit.
 *
 * @throws InvalidInputError for a memory clock that the board does not have
 * @throws PctodlError `LEASE_HELD` if another program has the lease, `NOT_MEASURED` if a row fails
 */
export async function sweepBoard(board: ProfiledBoard, options: SweepOptions): Promise<Sweep> {
  const { tenants, over, memClockMhz, measure, signal, onRow } = options
  const { spec } = board.gpu
  const states = statesAt(spec, memClockMhz)
  const lease = await board.gpu.acquire()
  const context = { board, lease, options: { ...defaultMeasure, ...measure }, signal }
  let rows = 0
  const pointAt = async (setting: number): Promise<KneePoint> => {
    signal?.throwIfAborted()
    if (over === 'limits') await lease.setPowerLimit(setting)
    const smClockMhz = over === 'clocks' ? setting : null
    const planned: PlannedRow = { sweep: 'single', tenants, smClockMhz, memClockMhz, repeat: 0 }
    const row = await measureRow(context, planned, rows++)
    if (row.failed) throw new PctodlError('NOT_MEASURED', `${unitOf(over, setting)}: ${row.status}: ${row.message}`)
    const point = { setting, throughput: row.throughput, powerW: row.powerAverageW }
    onRow?.(point, row)
    return point
  }
  try {
    if (over === 'clocks') {
      const { best, points } = await findKnee(states, pointAt)
      return { over, best, highest: points.find(({ setting }) => setting === states.at(-1)), points }
    }
    // All limits above the power that the tenants draw without a limit have the same effect, so that power is measured
    // first.
    const highest = await pointAt(spec.powerLimitW.max)
    const { best, points } = await findKnee(limitsOf(spec, highest.powerW), pointAt, [highest])
    return { over, best, highest, points }
  } finally {
    try {
      await board.tenants.stop()
    } finally {
      await lease.release()
    }
  }
}

/** Formats a setting with its unit. */
export function unitOf(over: SweptSetting, setting: number): string {
  return over === 'clocks' ? `${setting} MHz` : `${setting} W`
}

/**
 * Power limits to choose from, W, in steps of 1 W: from the board's lowest limit to the power that the tenants draw
 * without a limit.
 */
export function limitsOf(spec: GpuSpec, drawnW: number): number[] {
  const { min, max } = spec.powerLimitW
  const lowest = Math.ceil(min)
  const most = Math.max(lowest, Math.min(Math.floor(max), Math.ceil(drawnW)))
  return Array.from({ length: most - lowest + 1 }, (_, i) => lowest + i)
}
