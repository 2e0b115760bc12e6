import type { TraceRow } from '@pctodl/platform'
import type { Evaluator } from '../evaluator.js'
import type { ErrorSummary, Spread } from '../parameters.js'
import { mixes, mixIndex, regionOf, spreadQuantities, tenantClasses } from '../spread.js'
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
  /** ln(measured / predicted). */
  readonly logs: Readonly<Record<Spread['quantity'], readonly number[]>>
}

/** Regions with fewer rows take the figure of all rows. */
const LEAST_ROWS = 20

/** One row beside its prediction. */
export interface RowPrediction {
  readonly row: TraceRow
  /** Samples/s over all tenants. */
  readonly throughput: number
  readonly powerW: number
}

/** Collects prediction errors row by row, from one fit or from the folds of a cross-validation. */
export class ErrorCollector {
  readonly #rows: RowErrors[] = []

  add(row: TableRow, evaluator: Evaluator, powerW = evaluator.powerW): void {
    const { throughput, powerAverageW, smUtilPercent, memUtilPercent, tenantThroughput } = row.row
    this.#rows.push({
      row,
      logs: {
        throughput: [Math.log(throughput / evaluator.totalThroughput)],
        'tenant throughput': tenantThroughput.flatMap((measured, i) =>
          measured > 0 ? [Math.log(measured / evaluator.throughput[i]!)] : [],
        ),
        power: [Math.log(powerAverageW / powerW)],
      },
      errors: {
        throughput: [relative(evaluator.totalThroughput, throughput)],
        'tenant throughput': tenantThroughput.flatMap((measured, i) =>
          measured > 0 ? [relative(evaluator.throughput[i]!, measured)] : [],
        ),
        power: [relative(powerW, powerAverageW)],
        'SM utilisation': [Math.abs(evaluator.smUtilPercent - smUtilPercent)],
        'memory utilisation': [Math.abs(evaluator.memUtilPercent - memUtilPercent)],
      },
    })
  }

  predictions(): RowPrediction[] {
    return this.#rows.map(({ row: { row }, logs }) => ({
      row,
      throughput: row.throughput / Math.exp(logs.throughput[0]!),
      powerW: row.powerAverageW / Math.exp(logs.power[0]!),
    }))
  }

  /** Standard deviation of each quantity by region, for `Prediction.throughputSd` and its like. */
  spread(): Spread[] {
    return spreadQuantities.flatMap((quantity) => {
      const valuesOf = (entries: readonly RowErrors[]) => {
        const values = entries.flatMap((entry) => entry.logs[quantity])
        // A trace without a column of tenants knows them where they are alike: there the total tells.
        return values.length > 0 ? values : entries.flatMap((entry) => entry.logs.throughput)
      }
      const ofAll = rootMeanSquare(valuesOf(this.#rows))
      return mixes.flatMap((mix, m) =>
        tenantClasses.map((tenants, t): Spread => {
          const region = m * tenantClasses.length + t
          const values = valuesOf(this.#rows.filter(({ row }) => regionOfRow(row) === region))
          const sd = values.length < LEAST_ROWS ? ofAll : rootMeanSquare(values)
          return { quantity, mix, tenants, count: values.length, sd: Number(sd.toFixed(5)) }
        }),
      )
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

function regionOfRow({ likeTenants, networks, kinds }: TableRow): number {
  return regionOf(mixIndex(likeTenants, networks.length > 1), kinds.length)
}

function rootMeanSquare(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / Math.max(1, values.length))
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
