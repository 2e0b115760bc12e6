import type { GpuSpec } from '@pctodl/platform'
import type { ModelObjective } from './model-objective.js'
import type { TableRow } from './trace-table.js'

/** Rows with a predicted power above this multiple of the limit are certainly throttled by it. */
const SURELY = 1.05
const MIN_ROWS = 5

/**
 * Power at which a board levels off under its default limit, W: the median of the certainly throttled rows, at most the
 * limit. With too few such rows, the limit itself.
 */
export function powerLimitHeld(spec: GpuSpec, rows: readonly TableRow[], objective: ModelObjective): number {
  const limitW = spec.powerLimitW.default
  const held = rows
    .filter((row) => row.nominalClock && objective.evaluate(row).powerW > SURELY * limitW)
    .map((row) => row.row.powerAverageW)
    .sort((a, b) => a - b)
  return held.length < MIN_ROWS ? limitW : Math.min(limitW, held[held.length >> 1]!)
}
