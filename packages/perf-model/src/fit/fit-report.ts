import { quantileOfSorted } from '@pctodl/numerics'
import type { TraceRow } from '@pctodl/platform'
import boardKind from '../../params/A100.json'
import { type ErrorState, type ErrorSummary, mixes } from '../parameters.js'
import { scaledTo } from '../uncertainty/error-model.js'
import type { ModelObjective, RowFeatures } from './model-objective.js'
import type { TableRow } from './trace-table.js'

/** Errors of one row: percent of the measurement, or points for a utilisation. */
interface RowErrors {
  readonly row: TableRow
  readonly errors: Readonly<Record<ErrorSummary['quantity'], readonly number[]>>
  /** ln(measured / predicted). */
  readonly logs: Readonly<Record<ErrorState['quantity'], number>>
  /** Terms of the error model for this row. */
  readonly features: RowFeatures
}

export interface RowPrediction {
  readonly row: TraceRow
  /** Sum over all tenants, samples/s. */
  readonly throughput: number
  readonly powerW: number
}

/** Collects prediction errors row by row, from one fit or from the folds of a cross-validation. */
export class ErrorCollector {
  readonly #rows: RowErrors[] = []

  add(row: TableRow, objective: Pick<ModelObjective, 'evaluate' | 'featuresOf' | 'powerOf'>): void {
    const powerW = objective.powerOf(row)
    const solution = objective.evaluate(row)
    const { throughput, powerAverageW, smUtilPercent, memUtilPercent, tenantThroughput } = row.row
    this.#rows.push({
      row,
      features: objective.featuresOf(row),
      logs: {
        throughput: Math.log(throughput / solution.totalThroughput),
        power: Math.log(powerAverageW / powerW),
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
      throughput: row.throughput / Math.exp(logs.throughput),
      powerW: row.powerAverageW / Math.exp(logs.power),
    }))
  }

  /**
   * Error states for the parameters: the spread among boards of one kind, scaled to the errors of the collected rows.
   */
  errorStates(networks: readonly string[]): ErrorState[] {
    return (boardKind.errors as ErrorState[]).map((kind) =>
      scaledTo(
        kind,
        networks,
        this.#rows.map(({ logs, features }) => ({ error: logs[kind.quantity], ...features[kind.quantity] })),
      ),
    )
  }

  summaries(): ErrorSummary[] {
    const quantities = Object.keys(this.#rows[0]?.errors ?? {}) as ErrorSummary['quantity'][]
    return quantities.flatMap((quantity) =>
      (['all', ...mixes] as const).flatMap((rows): ErrorSummary[] => {
        const own = this.#rows.filter(({ row }) => rows === 'all' || row.mix === rows)
        const errors = own.flatMap((entry) => entry.errors[quantity])
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

/** Round a value for parameter files; further digits would be noise. */
function digits(value: number): number {
  return Number(value.toFixed(3))
}
