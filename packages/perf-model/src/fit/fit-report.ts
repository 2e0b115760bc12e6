import { quantileOfSorted } from '@pctodl/numerics'
import type { TraceRow } from '@pctodl/platform'
import type { CalibratedQuantity, Calibration, ErrorSummary } from '../parameters.js'
import type { Solution } from '../solve.js'
import { type CalibrationError, calibrate } from './calibrate.js'
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
  readonly logs: Readonly<Record<CalibratedQuantity, readonly number[]>>
  /** What the sizes of these may depend on. */
  readonly features: Readonly<Record<CalibratedQuantity, Float64Array>>
}

/** Features of a row's errors, as `calibration-layout.ts` has them. */
export interface RowFeatures {
  readonly speed: Float64Array
  readonly power: Float64Array
}

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

  add(row: TableRow, solution: Solution, features: RowFeatures, powerW: number = solution.powerW): void {
    const { throughput, powerAverageW, smUtilPercent, memUtilPercent, tenantThroughput } = row.row
    this.#rows.push({
      row,
      features: { throughput: features.speed, 'tenant throughput': features.speed, power: features.power },
      logs: {
        throughput: [Math.log(throughput / solution.totalThroughput)],
        'tenant throughput': tenantThroughput.flatMap((measured, i) =>
          measured > 0 ? [Math.log(measured / solution.throughput[i]!)] : [],
        ),
        power: [Math.log(powerAverageW / powerW)],
      },
      errors: {
        throughput: [relative(solution.totalThroughput, throughput)],
        'tenant throughput': tenantThroughput.flatMap((measured, i) =>
          measured > 0 ? [relative(solution.throughput[i]!, measured)] : [],
        ),
        power: [relative(powerW, powerAverageW)],
        'SM utilisation': [Math.abs(solution.smUtilPercent - smUtilPercent)],
        'memory utilisation': [Math.abs(solution.memUtilPercent - memUtilPercent)],
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

  /** Errors of one quantity with their features. */
  errorsOf(quantity: CalibratedQuantity): CalibrationError[] {
    return this.#rows.flatMap(({ logs, features }) => {
      // A trace without a column of tenants knows them where they are alike: there the total tells.
      const errors = logs[quantity].length > 0 ? logs[quantity] : logs.throughput
      return errors.map((error) => ({ error, features: features[quantity] }))
    })
  }

  /** How the size of the errors goes with a configuration, for `Prediction.throughputSd` and its like. */
  calibration(networks: readonly string[]): Calibration[] {
    return (['throughput', 'tenant throughput', 'power'] as const).map((quantity) =>
      calibrate(quantity, this.errorsOf(quantity), networks),
    )
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
          {
            quantity,
            unit,
            rows,
            count: errors.length,
            median: digits(quantileOfSorted(errors, 0.5)),
            p95: digits(quantileOfSorted(errors, 0.95)),
          },
        ]
      }),
    )
  }
}

function relative(predicted: number, measured: number): number {
  return 100 * Math.abs(predicted / measured - 1)
}

/** Errors are kept in parameter files, where more digits would only be noise. */
function digits(value: number): number {
  return Number(value.toFixed(3))
}
