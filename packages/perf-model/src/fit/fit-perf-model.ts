import { type GpuSpec, InvalidInputError, SeededRandom, seedFrom, type TraceRow } from '@pctodl/platform'
import { levenbergMarquardt } from '../levenberg-marquardt.js'
import { type ErrorSummary, PARAMETER_SCHEMA_VERSION, type PerfModelParameters } from '../parameters.js'
import { fitMemory } from './fit-memory.js'
import { ErrorCollector } from './fit-report.js'
import {
  type FreeParameters,
  powerParameters,
  startBoard,
  startNetwork,
  throughputParameters,
  utilisationParameters,
} from './free-parameters.js'
import { ModelObjective, type StageResiduals } from './model-objective.js'
import { powerResiduals, throughputResiduals, utilisationResiduals } from './stage-residuals.js'
import { type TableRow, type TraceTable, traceTable } from './trace-table.js'

export interface FitOptions {
  /** What the rows are, in words; kept with the parameters. */
  readonly source: string
  readonly seed?: number
  /** Folds of the cross-validation, 0 for none. Default 5. */
  readonly folds?: number
  /** Starting points that race for a few iterations before the best is followed to its end. Default 2. */
  readonly starts?: number
  /** Iterations of a stage at most. Default 80. */
  readonly maxIterations?: number
  /** Called after each finished fit: the one of all rows, then one per fold. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface FitReport {
  readonly rows: number
  readonly failedRows: number
  /** Distinct sets of tenant kinds; the cross-validation holds out whole ones. */
  readonly groups: number
  /** Errors of the delivered parameters on the rows they were fitted to. */
  readonly inSampleErrors: readonly ErrorSummary[]
  /** Errors on groups of rows that the parameters in use had not seen. */
  readonly heldOutErrors: readonly ErrorSummary[]
  /** Parameters of the last fit of all rows that lie on a bound of their range, as `owner.name`. */
  readonly atBound: readonly string[]
}

/** Sizes of the parameters' pull towards the start, in standard deviations per unit of the logarithm: next to nothing. */
const PRIOR = 0.05
const HUBER = 2
const RACE_ITERATIONS = 12

/**
 * Fit one board with all its networks to measured rows: first the parameters of time to throughput, then those of power to
 * power given the predicted activity (as it will be at prediction), then the utilisation scale and the memory needs. The
 * errors reported as held out come from a cross-validation over groups that share the same kinds of tenants, so neither
 * another clock nor another number of the same tenants leaks into training.
 *
 * @throws InvalidInputError where no row is usable, or there are fewer groups than folds
 */
export function fitPerfModel(
  traceRows: readonly TraceRow[],
  spec: GpuSpec,
  options: FitOptions,
): { parameters: PerfModelParameters; report: FitReport } {
  const { seed = 1, folds = 5, starts = 2, maxIterations = 80, onProgress } = options
  const table = traceTable(traceRows, spec)
  const groups = [...new Set(table.rows.map((row) => row.group))]
  if (folds !== 0 && !(Number.isInteger(folds) && folds >= 2 && folds <= groups.length)) {
    throw new InvalidInputError('folds', folds, `0, or an integer from 2 to the number of groups, ${groups.length}`)
  }
  const inSample = new ErrorCollector()
  const full = fitRows(table, table.rows, spec, { seed, starts, maxIterations })
  for (const row of table.rows) inSample.add(row, full.objective.evaluate(row))
  onProgress?.(1, folds + 1)

  const heldOut = new ErrorCollector()
  const random = new SeededRandom(seedFrom('folds', seed))
  const foldOf = new Map(groups.map((group) => [group, folds > 0 ? random.integer(folds) : -1]))
  for (let fold = 0; fold < folds; fold++) {
    const training = table.rows.filter((row) => foldOf.get(row.group) !== fold)
    const { objective } = fitRows(table, training, spec, { seed, starts, maxIterations })
    for (const row of table.rows) if (foldOf.get(row.group) === fold) heldOut.add(row, objective.evaluate(row))
    onProgress?.(fold + 2, folds + 1)
  }

  const heldOutErrors = heldOut.summaries()
  return {
    parameters: {
      schemaVersion: PARAMETER_SCHEMA_VERSION,
      board: spec.key,
      provenance: {
        source: options.source,
        rows: table.rows.length,
        failedRows: table.failedRows,
        folds,
        seed,
        heldOutErrors,
      },
      boardParameters: full.objective.board,
      networks: [...full.objective.networks],
    },
    report: {
      rows: table.rows.length,
      failedRows: table.failedRows,
      groups: groups.length,
      inSampleErrors: inSample.summaries(),
      heldOutErrors,
      atBound: full.atBound,
    },
  }
}

interface RowFit {
  /** Holds the fitted parameters, and evaluates rows with them. */
  readonly objective: ModelObjective
  readonly atBound: readonly string[]
}

function fitRows(
  table: TraceTable,
  rows: readonly TableRow[],
  spec: GpuSpec,
  { seed, starts, maxIterations }: { seed: number; starts: number; maxIterations: number },
): RowFit {
  const board = startBoard(table.memClocksMhz)
  const networks = table.networkNames.map((name, k) => {
    const { leastBatchMs, leastCycles } = leastTimes(table, rows, k)
    return startNetwork(name, leastBatchMs, leastCycles)
  })
  const atBound: string[] = []
  const stage = (free: FreeParameters, residuals: StageResiduals, race: boolean): ModelObjective => {
    const objective = new ModelObjective(spec, table, rows, board, networks, free, residuals, PRIOR)
    const bounds = { lower: objective.lower(), upper: objective.upper(), huber: HUBER }
    const start = race ? bestStart(objective, bounds, starts, seed) : objective.pack()
    const found = levenbergMarquardt(objective, start, { ...bounds, maxIterations, costTolerance: 1e-5 })
    objective.settle(found.parameters)
    atBound.push(...found.activeBounds.map((j) => objective.nameOf(j)))
    return objective
  }
  stage(throughputParameters, throughputResiduals, starts > 1)
  stage(powerParameters, powerResiduals, false)
  const objective = stage(utilisationParameters, utilisationResiduals, false)
  fitMemory(table, rows, board, networks)
  return { objective, atBound }
}

/** Shortest batch time, ms, and least SM mega-cycles per sample of a network over its rows with like tenants. */
function leastTimes(table: TraceTable, rows: readonly TableRow[], network: number) {
  let leastBatchMs = Number.POSITIVE_INFINITY
  let leastCycles = Number.POSITIVE_INFINITY
  for (const { row, kinds, likeTenants } of rows) {
    const { network: of, sms, batchSize } = table.kinds[kinds[0]!]!
    if (!likeTenants || of !== network) continue
    const batchMs = (1e3 * kinds.length * batchSize) / row.throughput
    leastBatchMs = Math.min(leastBatchMs, batchMs)
    leastCycles = Math.min(leastCycles, (1e-3 * batchMs * row.smClockMhz * sms) / batchSize)
  }
  // A network that never runs among its like starts from typical figures.
  return Number.isFinite(leastBatchMs) ? { leastBatchMs, leastCycles } : { leastBatchMs: 8, leastCycles: 40 }
}

/** Let several points descend for a few iterations and return the best of them. */
function bestStart(
  objective: ModelObjective,
  bounds: { lower: Float64Array; upper: Float64Array; huber: number },
  starts: number,
  seed: number,
): Float64Array {
  const random = new SeededRandom(seedFrom('starts', seed))
  const centre = objective.pack()
  let best = centre
  let bestCost = Number.POSITIVE_INFINITY
  for (let s = 0; s < starts; s++) {
    const point = centre.map((value, j) =>
      s === 0 ? value : Math.min(bounds.upper[j]!, Math.max(bounds.lower[j]!, value + 0.5 * random.normal())),
    )
    const raced = levenbergMarquardt(objective, point, { ...bounds, maxIterations: RACE_ITERATIONS })
    if (raced.cost < bestCost) {
      best = raced.parameters
      bestCost = raced.cost
    }
  }
  return best
}
