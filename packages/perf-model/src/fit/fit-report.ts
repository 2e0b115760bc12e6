import type { Evaluator } from '../evaluator.js'
import type { ErrorSummary } from '../parameters.js'
import type { TableRow } from './trace-table.js'

type Subset = ErrorSummary['rows']

const subsets: Readonly<Record<Subset, (row: TableRow) => boolean>> = {
  all: () => true,
  'like tenants': (row) => row.likeTenants,
  'unlike tenants': (row) => !row.likeTenants && row.networks.length === 1,
  'several networks': (row) => row.networks.length > 1,
}

/** Errors of one row, in percent of the measurement or in points. */
interface RowErrors {
  readonly row: TableRow
  readonly errors: Readonly<Record<ErrorSummary['quantity'], readonly number[]>>
}

/** Collects prediction errors row by row, from one fit or from the folds of a cross-validation. */
export class ErrorCollector {
  readonly #rows: RowErrors[] = []

  add(row: TableRow, evaluator: Evaluator): void {
    const { throughput, powerAverageW, smUtilPercent, memUtilPercent, tenantThroughput } = row.row
    this.#rows.push({
      row,
      errors: {
        throughput: [relative(evaluator.totalThroughput, throughput)],
        'tenant throughput': tenantThroughput.flatMap((measured, i) =>
          measured > 0 ? [relative(evaluator.throughput[i]!, measured)] : [],
        ),
        power: [relative(evaluator.powerW, powerAverageW)],
        'SM utilisation': [Math.abs(evaluator.smUtilPercent - smUtilPercent)],
        'memory utilisation': [Math.abs(evaluator.memUtilPercent - memUtilPercent)],
      },
    })
  }

  summaries(): ErrorSummary[] {
    const quantities = Object.keys(this.#rows[0]?.errors ?? {}) as ErrorSummary['quantity'][]
    return quantities.flatMap((quantity) =>
      (Object.keys(subsets) as Subset[]).flatMap((rows): ErrorSummary[] => {
        const errors = this.#rows.filter((entry) => subsets[rows](entry.row)).flatMap((entry) => entry.errors[quantity])
        if (errors.length === 0) return []
        errors.sort((a, b) => a - b)
        const unit = quantity.endsWith('utilisation') ? 'points' : '%'
        return [
          { quantity, unit, rows, count: errors.length, median: quantile(errors, 0.5), p95: quantile(errors, 0.95) },
        ]
      }),
    )
  }
}

function relative(predicted: number, measured: number): number {
  return 100 * Math.abs(predicted / measured - 1)
}

/** Linear interpolation between order statistics. */
function quantile(sorted: readonly number[], part: number): number {
  const position = part * (sorted.length - 1)
  const below = sorted[Math.floor(position)]!
  const above = sorted[Math.ceil(position)]!
  return Number((below + (position - Math.floor(position)) * (above - below)).toFixed(3))
}
