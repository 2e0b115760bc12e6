import { type AlgorithmName, algorithmNames } from './algorithms.js'
import { type BenchTask, taskFileStem } from './tasks.js'

/** One run of one algorithm on one task: the unit that is run, recorded, resumed and compared. Plain JSON. */
export interface Cell {
  readonly task: BenchTask
  readonly algorithm: AlgorithmName
  /** Seed of the simulated board; seeds of one task differ in the board's sensor error and noise only. */
  readonly seed: number
  /** Measuring windows of 5 s. */
  readonly iterations: number
  /** Plans stay this far below the cap, W. */
  readonly powerMarginW: number
}

export interface CellRequest {
  readonly tasks: readonly BenchTask[]
  readonly algorithms: readonly AlgorithmName[]
  readonly seeds: readonly number[]
  readonly iterations: number
  readonly powerMarginW: number
  /** All algorithms of a task before the next task, instead of all tasks of an algorithm before the next algorithm. */
  readonly interleave: boolean
}

/** The cells of a request, in the order in which they run. */
export function cellsOf(request: CellRequest): Cell[] {
  const { tasks, algorithms, seeds, powerMarginW } = request
  const pairs = request.interleave
    ? tasks.flatMap((task) => algorithms.map((algorithm) => ({ task, algorithm })))
    : algorithms.flatMap((algorithm) => tasks.map((task) => ({ task, algorithm })))
  return pairs.flatMap(({ task, algorithm }) =>
    seeds.map((seed) => ({
      task,
      algorithm,
      seed,
      iterations: task.fixedIterations ?? request.iterations,
      powerMarginW,
    })),
  )
}

/** Seed of the runs whose files carry no suffix. */
export const USUAL_SEED = 1

/**
 * Where the results of a cell go, without an extension: `<GPU>_<algorithm>/<id>_<model>_<dataset>_<cap>W`, and for other
 * seeds than the usual one `..._seed2`.
 */
export function cellStem({ task, algorithm, seed }: Cell): string {
  const suffix = seed === USUAL_SEED ? '' : `_seed${seed}`
  return `${task.board}_${algorithm}/${taskFileStem(task)}${suffix}`
}

export function cellLabel(cell: Cell): string {
  const { task, algorithm, seed } = cell
  const which = seed === USUAL_SEED ? '' : `, seed ${seed}`
  return `task ${task.id} ${task.model}/${task.dataset} on ${task.board}, ${algorithm}${which}`
}

/** The order of tables: by board and task, then by algorithm, then by seed. */
export function compareCells(a: Cell, b: Cell): number {
  return (
    a.task.board.localeCompare(b.task.board) ||
    a.task.id - b.task.id ||
    algorithmNames.indexOf(a.algorithm) - algorithmNames.indexOf(b.algorithm) ||
    a.seed - b.seed
  )
}
