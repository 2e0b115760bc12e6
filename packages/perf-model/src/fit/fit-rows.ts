import { type LevenbergMarquardtResult, levenbergMarquardt, SeededRandom, seedFrom } from '@pctodl/numerics'
import type { GpuSpec } from '@pctodl/platform'
import type { BoardParameters, NetworkParameters } from '../parameters.js'
import { fitPowerCorrections, fitSpeedCorrections } from './fit-corrections.js'
import { fitMemory } from './fit-memory.js'
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
import type { TableRow, TraceTable } from './trace-table.js'

/**
 * Weight of the prior, which pulls each parameter towards its start, in standard deviations per unit of ln(parameter).
 * It is very weak.
 */
const PRIOR = 0.05
const HUBER = 2
const RACE_ITERATIONS = 12
/** A stage ends when a step lowers its cost by less than this fraction. The corrections absorb the rest. */
const COST_TOLERANCE = 5e-4
/** Rows with a predicted power above this multiple of the limit are certainly throttled by it. */
const SURELY = 1.05
/** Minimum number of such rows. */
const MIN_THROTTLED_ROWS = 5

export interface RowFitOptions {
  readonly seed: number
  readonly starts: number
  readonly maxIterations: number
  /**
   * Starting point instead of typical values: a fit of nearly the same rows or of a similar board. The fit then
   * converges quickly.
   */
  readonly from?: FitStart | undefined
}

/** Parameters of a board and its networks. */
export interface FitStart {
  readonly boardParameters: BoardParameters
  readonly networks: readonly NetworkParameters[]
}

export interface RowFit {
  /** Holds the fitted parameters, and evaluates rows with them. */
  readonly objective: ModelObjective
  readonly atBound: readonly string[]
}

/** Run all stages of a fit on one set of rows. */
export function fitRows(
  table: TraceTable,
  rows: readonly TableRow[],
  spec: GpuSpec,
  { seed, starts, maxIterations, from }: RowFitOptions,
): RowFit {
  const board = from ? withIdlePowers(from.boardParameters, table.memClocksMhz) : startBoard(table.memClocksMhz)
  const networks: NetworkParameters[] = table.networkNames.map((name, k) => {
    const near = from?.networks.find((network) => network.name === name)
    const { minBatchMs, minCycles } = minTimes(table, rows, k)
    const none = { speed: [], dynamicPower: [], speedSd: [], powerSd: [] }
    const corrections = table.memClocksMhz.map((memClockMhz) => ({ memClockMhz, ...none }))
    return { ...(near ?? startNetwork(name, minBatchMs, minCycles)), hostSpeed: [], corrections }
  })
  let limitW = Number.POSITIVE_INFINITY
  const results: { objective: ModelObjective; result: LevenbergMarquardtResult }[] = []
  const stage = (free: FreeParameters, residuals: StageResiduals, race = false): ModelObjective => {
    const objective = new ModelObjective(spec, table, rows, board, networks, free, residuals, () => PRIOR, limitW)
    const bounds = { lower: objective.lower(), upper: objective.upper(), huber: HUBER }
    const start = race ? bestStart(objective, bounds, starts, seed) : objective.pack()
    const result = levenbergMarquardt(objective, start, { ...bounds, maxIterations, costTolerance: COST_TOLERANCE })
    objective.settle(result.parameters)
    results.push({ objective, result })
    return objective
  }
  let objective = stage(throughputParameters, throughputResiduals, starts > 1)
  fitSpeedCorrections(table, rows, objective)
  if (rows.some((row) => row.nominalClock)) {
    limitW = powerLimitHeld(spec, rows, stage(powerParameters, powerResiduals))
    results.pop()
  }
  objective = stage(powerParameters, powerResiduals)
  fitPowerCorrections(table, rows, objective)
  objective = stage(utilisationParameters, utilisationResiduals)
  fitMemory(table, rows, board, networks)
  const atBound = results.flatMap(({ objective: of, result }) => result.activeBounds.map((j) => of.nameOf(j)))
  return { objective, atBound }
}

/** Parameters of a board with other memory clocks. A memory clock without an idle power gets the board's first. */
function withIdlePowers(board: BoardParameters, memClocksMhz: readonly number[]): BoardParameters {
  const { idlePowerW: known } = board
  const idlePowerW = memClocksMhz.map((memClockMhz) => {
    const { powerW } = known.find((entry) => entry.memClockMhz === memClockMhz) ?? known[0]!
    return { memClockMhz, powerW }
  })
  return { ...board, idlePowerW }
}

/**
 * Power at which a board levels off under its default limit, W: the median of the certainly throttled rows, at most the
 * limit. With too few such rows, the limit itself.
 */
function powerLimitHeld(spec: GpuSpec, rows: readonly TableRow[], objective: ModelObjective): number {
  const limitW = spec.powerLimitW.default
  const held = rows
    .filter((row) => row.nominalClock && objective.evaluate(row).powerW > SURELY * limitW)
    .map((row) => row.row.powerAverageW)
    .sort((a, b) => a - b)
  return held.length < MIN_THROTTLED_ROWS ? limitW : Math.min(limitW, held[held.length >> 1]!)
}

/** Shortest batch time (ms) and fewest SM mega-cycles per sample of a network, over its rows with like tenants. */
function minTimes(table: TraceTable, rows: readonly TableRow[], network: number) {
  let minBatchMs = Number.POSITIVE_INFINITY
  let minCycles = Number.POSITIVE_INFINITY
  for (const { row, kinds, likeTenants } of rows) {
    const { network: of, sms, batchSize } = table.kinds[kinds[0]!]!
    if (!likeTenants || of !== network) continue
    const batchMs = (1e3 * kinds.length * batchSize) / row.throughput
    minBatchMs = Math.min(minBatchMs, batchMs)
    minCycles = Math.min(minCycles, (1e-3 * batchMs * row.smClockMhz * sms) / batchSize)
  }
  // Use typical values for a network without rows of like tenants.
  return Number.isFinite(minBatchMs) ? { minBatchMs, minCycles } : { minBatchMs: 8, minCycles: 40 }
}

/** Run a few iterations from several starting points and return the best end point. */
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
