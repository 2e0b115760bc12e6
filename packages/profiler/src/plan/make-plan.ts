import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import { type ActiveOptions, activeSweep } from './active-sweep.js'
import { clocksGrid, type GridCells, tenantsOfGrid } from './anchor-grid.js'
import { type ClockRange, clocksOfRange, statesAt } from './clock-range.js'
import { mixSweep } from './mix-sweep.js'
import { orderRows, repeated } from './order-rows.js'
import {
  defaultMeasure,
  type MeasureOptions,
  type PlannedRow,
  type ProfilePlan,
  type SweepName,
} from './profile-plan.js'

/** What a plan is to measure. Sweeps that are absent are not measured. */
export interface PlanRequest {
  readonly models: readonly string[]
  /** Memory clocks, MHz; null leaves the memory clock unchanged. */
  readonly memClocksMhz: readonly (number | null)[]
  /** Configurations of identical tenants, measured for each network. */
  readonly grid?: readonly GridCells[]
  /** SM clocks at which nine configurations per network are measured. */
  readonly clocks?: ClockRange
  /** SM clocks at which one process on the whole board is measured. */
  readonly scaling?: ClockRange
  /** SM clocks, or the one SM clock, at which the board without tenants is measured. */
  readonly static?: ClockRange | { readonly smClockMhz: number | null }
  /** Tenants to measure at every SM clock of a range. */
  readonly sweep?: { readonly tenants: readonly Tenant[]; readonly range: ClockRange }
  /** Tenants to measure at one SM clock; null leaves the SM clock unchanged. */
  readonly single?: { readonly tenants: readonly Tenant[]; readonly smClockMhz: number | null }
  /** Number of random mixes of different tenants to measure at each memory clock. */
  readonly mixes?: number
  /** Rows to measure at each memory clock to improve the predictions for plans: plans and random mixes. */
  readonly active?: Omit<ActiveOptions, 'seed'>
  readonly repeats?: number
  readonly seed: number
  readonly measure?: Partial<MeasureOptions>
}

/**
 * Makes the rows of all requested sweeps and orders them.
 *
 * @throws InvalidInputError for clocks that the board does not have, or a request without rows
 */
export function makePlan(spec: GpuSpec, request: PlanRequest): ProfilePlan {
  const { models, seed } = request
  const rows: PlannedRow[] = []
  const { single, sweep, grid, clocks, scaling, mixes, active, static: idle } = request
  for (const memClockMhz of request.memClocksMhz) {
    const add = (
      name: SweepName,
      configurations: readonly (readonly Tenant[])[],
      smClocksMhz: readonly (number | null)[],
    ): void => {
      for (const tenants of configurations) {
        for (const smClockMhz of smClocksMhz) rows.push({ sweep: name, tenants, smClockMhz, memClockMhz, repeat: 0 })
      }
    }
    const along = (range: ClockRange) => clocksOfRange(spec, memClockMhz, range)
    if (single) add('single', [single.tenants], [single.smClockMhz])
    if (sweep) add('single', [sweep.tenants], along(sweep.range))
    for (const model of models) {
      if (grid) add('anchor', tenantsOfGrid(model, grid), [null])
      if (clocks) add('clocks', tenantsOfGrid(model, clocksGrid), along(clocks))
      if (scaling) add('scaling', [[{ model, mpsPercent: 100, batchSize: 128 }]], along(scaling))
    }
    if (mixes) rows.push(...mixSweep(spec, models, memClockMhz, { count: mixes, seed }))
    if (active) rows.push(...activeSweep(spec, models, memClockMhz, { ...active, seed }))
    if (idle) add('static', [[]], 'smClockMhz' in idle ? [idle.smClockMhz] : along(idle))
  }
  if (rows.length === 0) throw new InvalidInputError('plan', request, 'at least one row')
  for (const row of rows) assertClock(spec, row)
  const measure = { ...defaultMeasure, ...request.measure }
  return {
    version: 1,
    board: spec.key,
    seed,
    measure: {
      ...measure,
      settleMaxMs: Math.max(measure.settleMaxMs, measure.settleMinMs),
      windowMaxMs: Math.max(measure.windowMaxMs, measure.windowMinMs),
    },
    rows: orderRows(repeated(rows, request.repeats ?? 1), seed),
  }
}

function assertClock(spec: GpuSpec, { smClockMhz, memClockMhz }: PlannedRow): void {
  const states = statesAt(spec, memClockMhz)
  if (smClockMhz === null || states.includes(smClockMhz)) return
  throw new InvalidInputError('SM clock', smClockMhz, `a state of ${spec.name}, ${states[0]} to ${states.at(-1)} MHz`)
}
