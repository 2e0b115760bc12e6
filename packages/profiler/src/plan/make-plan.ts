import { SeededRandom, seedFrom, shuffled } from '@pctodl/numerics'
import { type GpuSpec, groupBy, InvalidInputError, type Tenant } from '@pctodl/platform'
import { type ClockRange, clocksOfRange, statesAt } from './clock-range.js'
import {
  defaultMeasure,
  type MeasureOptions,
  type PlannedRow,
  type ProfilePlan,
  type SweepName,
} from './profile-plan.js'

/** Configurations to measure at one memory clock. */
export interface SweepRequest {
  readonly sweep: SweepName
  /** The tenants of each configuration; none to measure the board without work. */
  readonly configurations: readonly (readonly Tenant[])[]
  /** The SM clocks at which each configuration is measured, or the one, MHz; null leaves the SM clock unchanged. */
  readonly smClocks: ClockRange | number | null
  /** MHz; null leaves the memory clock unchanged. */
  readonly memClockMhz: number | null
}

/**
 * Returns a row for each configuration at each SM clock.
 *
 * @throws InvalidInputError for a range of clocks that the board does not have
 */
export function sweepRows(spec: GpuSpec, request: SweepRequest): PlannedRow[] {
  const { sweep, configurations, smClocks, memClockMhz } = request
  const isRange = typeof smClocks === 'object' && smClocks !== null
  const clocks = isRange ? clocksOfRange(spec, memClockMhz, smClocks) : [smClocks]
  return configurations.flatMap((tenants) =>
    clocks.map((smClockMhz) => ({ sweep, tenants, smClockMhz, memClockMhz, repeat: 0 })),
  )
}

export interface PlanOptions {
  readonly seed: number
  /** How often each row is measured: one whole pass after another. Default 1. */
  readonly repeats?: number
  readonly measure?: Partial<MeasureOptions>
}

/**
 * Orders rows for measuring. The order is random, so that drift (heat, other users of the host) does not correlate with
 * shares or batch sizes. Rows that need the same processes are measured one after another, because batch size and clock
 * can change without restarting processes. These groups are shuffled, and so are the rows within each.
 *
 * @throws InvalidInputError for clocks that the board does not have, or no rows
 */
export function makePlan(
  spec: GpuSpec,
  rows: readonly PlannedRow[],
  { seed, repeats = 1, measure: chosen }: PlanOptions,
): ProfilePlan {
  if (rows.length === 0) throw new InvalidInputError('plan', rows, 'at least one row')
  for (const row of rows) assertClock(spec, row)
  const passes = Array.from({ length: repeats }, (_, repeat) => rows.map((row) => ({ ...row, repeat })))
  const blocks = groupBy(passes.flat(), (row) => `${row.repeat} ${processesOf(row)}`)
  const random = new SeededRandom(seedFrom('order', seed))
  const measure = { ...defaultMeasure, ...chosen }
  return {
    version: 1,
    board: spec.key,
    seed,
    measure: {
      ...measure,
      settleMaxMs: Math.max(measure.settleMaxMs, measure.settleMinMs),
      windowMaxMs: Math.max(measure.windowMaxMs, measure.windowMinMs),
    },
    rows: shuffled([...blocks.values()], random).flatMap((block) => shuffled(block, random)),
  }
}

/** A key that is equal for rows that need the same processes. */
export function processesOf({ tenants }: PlannedRow): string {
  return tenants
    .map(({ model, mpsPercent }) => `${model}:${mpsPercent}`)
    .sort()
    .join(' ')
}

function assertClock(spec: GpuSpec, { smClockMhz, memClockMhz }: PlannedRow): void {
  const states = statesAt(spec, memClockMhz)
  if (smClockMhz === null || states.includes(smClockMhz)) return
  throw new InvalidInputError('SM clock', smClockMhz, `a state of ${spec.name}, ${states[0]} to ${states.at(-1)} MHz`)
}
