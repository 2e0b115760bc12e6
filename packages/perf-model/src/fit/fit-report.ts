import { quantileOfSorted } from '@pctodl/numerics'
import type { TraceRow } from '@pctodl/platform'
import boardKind from '../../params/A100.json'
import { type ErrorState, type ErrorSummary, mixes } from '../parameters.js'
import { scaledTo } from '../uncertainty/error-model.js'
import type { ModelObjective, RowFeatures } from './model-objective.js'
import { heldPowerW } from './stage-residuals.js'
import type { TableRow } from './trace-table.js'

/** One row with the errors of its prediction, in percent of the measurement, or in points for a utilisation. */
export interface RowErrors {
  readonly row: TableRow
  readonly errors: Readonly<Record<ErrorSummary['quantity'], readonly number[]>>
  /** ln(measured / predicted). */
  readonly logs: Readonly<Record<ErrorState['quantity'], number>>
  readonly features: RowFeatures
}

export interface RowPrediction {
  readonly row: TraceRow
  /** Sum over all tenants, samples/s. */
  readonly throughput: number
  readonly powerW: number
}

/** Predict a row by a fit. */
export function errorsOf(
  row: TableRow,
  objective: Pick<ModelObjective, 'evaluate' | 'featuresOf' | 'limitW'>,
): RowErrors {
  const solution = objective.evaluate(row)
  const powerW = heldPowerW(row, solution, objective.limitW)
  const { throughput, powerAverageW, smUtilPercent, memUtilPercent, tenantThroughput } = row.row
  return {
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
  }
}

export function predictionOf({ row: { row }, logs }: RowErrors): RowPrediction {
  return {
    row,
    throughput: row.throughput / Math.exp(logs.throughput),
    powerW: row.powerAverageW / Math.exp(logs.power),
  }
}

/** Error states for the parameters: the spread among boards of one kind, scaled to the errors of the rows. */
export function errorStates(rows: readonly RowErrors[], networks: readonly string[]): ErrorState[] {
  return (boardKind.errors as ErrorState[]).map((kind) =>
    scaledTo(
      kind,
      networks,
      rows.map(({ logs, features }) => ({ error: logs[kind.quantity], ...features[kind.quantity] })),
    ),
  )
}

export function errorSummaries(collected: readonly RowErrors[]): ErrorSummary[] {
  const quantities = Object.keys(collected[0]?.errors ?? {}) as ErrorSummary['quantity'][]
  return quantities.flatMap((quantity) =>
    (['all', ...mixes] as const).flatMap((rows): ErrorSummary[] => {
      const own = collected.filter(({ row }) => rows === 'all' || row.mix === rows)
      const errors = own.flatMap((entry) => entry.errors[quantity]).sort((a, b) => a - b)
      if (errors.length === 0) return []
      const unit = quantity.endsWith('utilisation') ? 'points' : '%'
      const [median, p95] = [0.5, 0.95].map((q) => Number(quantileOfSorted(errors, q).toFixed(3)))
      return [{ quantity, unit, rows, count: errors.length, median: median!, p95: p95! }]
    }),
  )
}

function relative(predicted: number, measured: number): number {
  return 100 * Math.abs(predicted / measured - 1)
}
