import { type GpuSpec, InvalidInputError, type Tenant } from '@pctodl/platform'
import { z } from 'zod'
import { type ActiveOptions, activeSweep } from './active-sweep.js'
import { anchorSweep, type GridCells } from './anchor-grid.js'
import { atEveryClock, type ClockRange, clockSweep, frequencyScaling, statesAt, staticSweep } from './clock-sweep.js'
import { mixSweep } from './mix-sweep.js'
import { orderRows, repeated } from './order-rows.js'
import { defaultMeasure, type MeasureOptions, type PlannedRow, type ProfilePlan } from './profile-plan.js'

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
  /** Rows to measure at each memory clock, chosen to reduce the uncertainty of predicted plans the most. */
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
  for (const memClockMhz of request.memClocksMhz) {
    const point = { memClockMhz, repeat: 0 }
    if (request.single) rows.push({ sweep: 'single', ...request.single, ...point })
    if (request.sweep) {
      rows.push(...atEveryClock(spec, 'single', request.sweep.tenants, memClockMhz, request.sweep.range))
    }
    for (const model of models) {
      if (request.grid) rows.push(...anchorSweep(model, memClockMhz, request.grid))
      if (request.clocks) rows.push(...clockSweep(spec, model, memClockMhz, request.clocks))
      if (request.scaling) rows.push(...frequencyScaling(spec, model, memClockMhz, request.scaling))
    }
    if (request.mixes) rows.push(...mixSweep(spec, models, memClockMhz, { count: request.mixes, seed }))
    if (request.active) rows.push(...activeSweep(spec, models, memClockMhz, { ...request.active, seed }))
    if (request.static && 'smClockMhz' in request.static) {
      rows.push({ sweep: 'static', tenants: [], smClockMhz: request.static.smClockMhz, ...point })
    } else if (request.static) rows.push(...staticSweep(spec, memClockMhz, request.static))
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

const matrixSchema = z.object({
  stressMatrix: z
    .array(
      z.object({
        mpsPct: z.number().gt(0).max(100),
        taskCounts: z.array(z.int().min(1)).min(1),
        batches: z.array(z.int().min(1)).min(1),
      }),
    )
    .min(1),
})

/**
 * Reads a grid from the Python code's `profiler_matrix.json`. Configurations whose shares sum to more than 100 are
 * omitted, as in the Python code.
 *
 * @throws InvalidInputError naming the invalid field and what it should contain
 */
export function parseMatrix(json: unknown, source: string): GridCells[] {
  const result = matrixSchema.safeParse(json)
  if (!result.success) {
    const { path, message } = result.error.issues[0]!
    throw new InvalidInputError(`${source}: ${path.join('.') || 'matrix'}`, undefined, message)
  }
  return result.data.stressMatrix
    .map(({ mpsPct, taskCounts, batches }) => ({
      mpsPercent: mpsPct,
      tenantCounts: taskCounts.filter((count) => count * mpsPct <= 100),
      batchSizes: batches,
    }))
    .filter(({ tenantCounts }) => tenantCounts.length > 0)
}
