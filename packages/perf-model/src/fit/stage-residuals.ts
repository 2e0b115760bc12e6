import type { Solution } from '../solve.js'
import type { StageResiduals } from './model-objective.js'
import type { TableRow } from './trace-table.js'

/** Standard deviations of relative errors. */
const THROUGHPUT_SIGMA = 0.03
const TENANT_SIGMA = 0.06
const POWER_SIGMA = 0.02
/** Standard deviation of an error in utilisation, points. */
const UTILISATION_SIGMA = 3

/** Residuals of the total throughput. Unlike tenants with measured throughputs add one residual each. */
export const throughputResiduals: StageResiduals = {
  count: (row) => 1 + (hasTenantResiduals(row) ? row.kinds.length : 0),
  write(row, solution, out, at) {
    out[at] = Math.log(solution.totalThroughput / row.row.throughput) / THROUGHPUT_SIGMA
    if (!hasTenantResiduals(row)) return
    const count = row.kinds.length
    // Dividing by the root of the count gives rows with many tenants no more weight than rows with few tenants.
    const scale = 1 / (TENANT_SIGMA * Math.sqrt(count))
    for (let i = 0; i < count; i++) {
      const measured = row.row.tenantThroughput[i]!
      out[at + 1 + i] = measured > 0 ? scale * Math.log(solution.throughput[i]! / measured) : 0
    }
  },
}

/** Residuals of the power. */
export const powerResiduals: StageResiduals = single(
  (row, solution, limitW) => Math.log(heldPowerW(row, solution, limitW) / row.row.powerAverageW) / POWER_SIGMA,
)

/** Predicted power of a row, W. For a nominal clock, it is capped at the limit. */
export function heldPowerW({ nominalClock }: TableRow, { powerW }: Solution, limitW: number): number {
  return nominalClock ? Math.min(powerW, limitW) : powerW
}

export const utilisationResiduals: StageResiduals = single(
  (row, solution) => (solution.memUtilPercent - row.row.memUtilPercent) / UTILISATION_SIGMA,
)

function single(residual: (row: TableRow, solution: Solution, limitW: number) => number): StageResiduals {
  return {
    count: () => 1,
    write(row, solution, out, at, limitW) {
      out[at] = residual(row, solution, limitW)
    },
  }
}

function hasTenantResiduals(row: TableRow): boolean {
  return !row.likeTenants && row.row.tenantThroughput.length === row.kinds.length
}
