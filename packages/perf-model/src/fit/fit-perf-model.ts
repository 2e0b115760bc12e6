import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { assertKnownOptions, type GpuSpec, InvalidInputError, readPlatform, type TraceRow } from '@pctodl/platform'
import { numberThat, oneOfThe, someText } from '../field-checks.js'
import {
  boardParameters,
  type ErrorSummary,
  networkList,
  PARAMETER_SCHEMA_VERSION,
  type PerfModelParameters,
} from '../parameters.js'
import {
  errorStates,
  errorSummaries,
  errorsOf,
  predictionOf,
  type RowErrors,
  type RowPrediction,
} from './fit-report.js'
import { type FitStart, fitRows } from './fit-rows.js'
import { profileOf } from './profile-of.js'
import { traceTable } from './trace-table.js'

export interface FitOptions {
  /** Description of the rows, stored with the parameters. */
  readonly source: string
  readonly seed?: number
  /** Folds of the cross-validation, 0 for none. Default 5. */
  readonly folds?: number
  /**
   * Number of starting points. Each runs a few iterations; the best one is fitted to the end. Default 2; folds use one.
   */
  readonly starts?: number
  /** Maximum iterations per stage. Default 80. */
  readonly maxIterations?: number
  /**
   * Which clock the clock column contains in rows without a locked clock. `measured` (default): the mean of the
   * measured clock. `nominal`: the clock at which the board runs if the power limit does not lower it. For `nominal`
   * rows, the predicted power is capped at the power at which the board levels off under its limit.
   */
  readonly unlockedClock?: 'measured' | 'nominal'
  /** Parameters of a board of the same kind. A fit that starts from them needs fewer rows and less time. */
  readonly from?: FitStart
}

const knownOptions = ['source', 'seed', 'folds', 'starts', 'maxIterations', 'unlockedClock', 'from'] as const

export interface FitReport {
  readonly rows: number
  readonly failedRows: number
  /**
   * Number of groups. A group contains the rows with the same kinds of tenants; cross-validation holds out whole
   * groups.
   */
  readonly groups: number
  /** Errors of the returned parameters on the rows they were fitted to. */
  readonly inSampleErrors: readonly ErrorSummary[]
  /** Errors on the held-out groups of each fold. */
  readonly heldOutErrors: readonly ErrorSummary[]
  /** Every row with its prediction, which is held out if there was a cross-validation, in sample otherwise. */
  readonly predictions: readonly RowPrediction[]
  /** Parameters that ended at a bound of their range in the fit of all rows, as `owner.name`. */
  readonly atBound: readonly string[]
}

export interface FittedModel {
  readonly parameters: PerfModelParameters
  readonly report: FitReport
}

/**
 * Fit one board with all its networks to measured rows, in stages. The time parameters are fitted to throughput. The
 * power parameters are fitted to power at the predicted activity, as it is at prediction time. Then the utilisation
 * scale and the memory needs follow. Held-out errors come from a cross-validation that holds out all rows with the same
 * kinds of tenants. Training therefore never sees the held-out tenants at another clock or in another number.
 *
 * @throws PlatformFileError for an invalid board
 * @throws InvalidInputError for invalid options, if no row is usable, or there are fewer groups than folds
 */
export function fitPerfModel(traceRows: readonly TraceRow[], spec: GpuSpec, options: FitOptions): FittedModel {
  const steps = fitSteps(traceRows, spec, options)
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/**
 * `fitPerfModel` as a generator. A step is one fit: first the fit of all rows, then one for each fold. Each takes
 * seconds, and the caller can do other work between steps.
 */
export function* fitSteps(
  traceRows: readonly TraceRow[],
  board: GpuSpec,
  options: FitOptions,
): Generator<{ readonly done: number; readonly total: number }, FittedModel> {
  const spec = readPlatform(board, 'spec')
  assertKnownOptions('options', options, knownOptions)
  const { source, seed = 1, folds = 5, starts = 2, maxIterations = 80, unlockedClock = 'measured', from } = options
  someText(source, 'source')
  numberThat('an integer of at least 0', (x) => Number.isInteger(x) && x >= 0)(seed, 'seed')
  const limited = numberThat('an integer from 1 to 10000', (x) => Number.isInteger(x) && x >= 1 && x <= 10_000)
  limited(starts, 'starts')
  limited(maxIterations, 'maxIterations')
  oneOfThe('measured', 'nominal')(unlockedClock, 'unlockedClock')
  if (from !== undefined) {
    boardParameters(from?.boardParameters, 'from.boardParameters')
    networkList(from.networks, 'from.networks')
  }
  const table = traceTable(traceRows, spec, { unlockedClock })
  const groups = [...new Set(table.rows.map((row) => row.group))]
  if (folds !== 0 && !(Number.isInteger(folds) && folds >= 2 && folds <= groups.length)) {
    throw new InvalidInputError('folds', folds, `0, or an integer from 2 to the number of groups, ${groups.length}`)
  }
  const full = fitRows(table, table.rows, spec, { seed, starts, maxIterations, from })
  const inSample = table.rows.map((row) => errorsOf(row, full.objective))
  const fitted = { boardParameters: full.objective.board, networks: [...full.objective.networks] }
  yield { done: 1, total: folds + 1 }

  const heldOut: RowErrors[] = []
  const random = new SeededRandom(seedFrom('folds', seed))
  const foldOf = new Map(groups.map((group) => [group, folds > 0 ? random.integer(folds) : -1]))
  for (let fold = 0; fold < folds; fold++) {
    const training = table.rows.filter((row) => foldOf.get(row.group) !== fold)
    const { objective } = fitRows(table, training, spec, { seed, starts: 1, maxIterations, from: fitted })
    for (const row of table.rows) if (foldOf.get(row.group) === fold) heldOut.push(errorsOf(row, objective))
    yield { done: fold + 2, total: folds + 1 }
  }

  const judged = folds > 0 ? heldOut : inSample
  const heldOutErrors = errorSummaries(heldOut)
  return {
    parameters: {
      schemaVersion: PARAMETER_SCHEMA_VERSION,
      board: spec.key,
      provenance: {
        source,
        rows: table.rows.length,
        failedRows: table.failedRows,
        folds,
        seed,
        heldOutErrors,
        refits: 0,
      },
      ...fitted,
      profile: profileOf(table, inSample),
      errors: errorStates(judged, table.networkNames),
    },
    report: {
      rows: table.rows.length,
      failedRows: table.failedRows,
      groups: groups.length,
      inSampleErrors: errorSummaries(inSample),
      heldOutErrors,
      predictions: judged.map(predictionOf),
      atBound: full.atBound,
    },
  }
}
