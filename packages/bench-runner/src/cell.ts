import { WINDOW_MS } from '@pctodl/run'
import { type AlgorithmName, everyAlgorithm, knowsTask } from './algorithms.js'
import { boardName, isServed, type Task, taskFileStem } from './tasks.js'

/**
 * One run of one algorithm on one task: the unit that is run, recorded, resumed and compared. Plain JSON, but for the arrivals of
 * services, which its task's id names.
 */
export interface Cell {
  readonly task: Task
  readonly algorithm: AlgorithmName
  /** Absent for a simulated board. */
  readonly real?: RealBoard
  /**
   * Number of the board in the ensemble of simulated ones (`A100~v3`): another chip, cooler, firmware, sensor and host, which fits
   * the measurements as well. Absent for the shipped board.
   */
  readonly variant?: number
  /**
   * Of a simulated board, its seed: seeds of one task differ in the board's sensor error and noise only. On a real board the
   * number of the repetition.
   */
  readonly seed: number
  /** Measuring windows of 5 s. */
  readonly iterations: number
  /** Plans stay this far below the cap, W. */
  readonly powerMarginW: number
  /** Whether pctodl keeps looking for better tenants while it runs. */
  readonly shadow: boolean
  /** Folder of predictor parameters (`<board>.json`); absent for the shipped ones. */
  readonly parametersFolder?: string
  /** Services: factor on the rates. Absent for 1. */
  readonly loadFactor?: number
  /** Services: the most load is searched for. */
  readonly maxLoad?: true
}

/** A board of this machine and what its tenants are. */
export interface RealBoard {
  /** `torch`, `onnx`, or a command that speaks the tenant protocol. */
  readonly worker: string
  /** Folder with a subfolder of images for each dataset; absent for synthetic images. */
  readonly datasetPath?: string
}

export interface CellRequest {
  readonly tasks: readonly Task[]
  readonly algorithms: readonly AlgorithmName[]
  readonly seeds: readonly number[]
  /** How many boards of the ensemble, in the place of the shipped one. Absent for that. */
  readonly variants?: number
  readonly iterations: number
  readonly powerMarginW: number
  readonly shadow: boolean
  readonly parametersFolder?: string
  readonly real?: RealBoard
  /** Of tasks with services, factors on the rates. Default: 1. */
  readonly loadFactor?: readonly number[]
  readonly maxLoad?: boolean
}

/** The cells of a request, in the order in which they run. */
export function cellsOf(request: CellRequest): Cell[] {
  const { tasks, algorithms, seeds, powerMarginW, shadow, parametersFolder, real, variants } = request
  const { loadFactor = [1], maxLoad = false } = request
  const boards = variants === undefined ? [undefined] : Array.from({ length: variants }, (_, i) => i + 1)
  const runs = boards.flatMap((variant) => seeds.map((seed) => ({ variant, seed })))
  const pairs = algorithms.flatMap((algorithm) =>
    // What an algorithm cannot be asked is left out, as a cell of the paper's table would be.
    tasks.flatMap((task) => (knowsTask(algorithm, task) ? [{ task, algorithm }] : [])),
  )
  return pairs.flatMap(({ task, algorithm }) =>
    (isServed(task) ? loadFactor : [1]).flatMap((factor) =>
      runs.map(({ variant, seed }) => ({
        task,
        algorithm,
        ...(real ? { real } : {}),
        ...(variant === undefined ? {} : { variant }),
        seed,
        iterations: isServed(task)
          ? Math.ceil((1000 * task.durationS) / WINDOW_MS)
          : (task.fixedIterations ?? request.iterations),
        powerMarginW,
        shadow,
        ...(parametersFolder === undefined ? {} : { parametersFolder }),
        ...(isServed(task) && maxLoad ? { maxLoad } : {}),
        ...(factor === 1 ? {} : { loadFactor: factor }),
      })),
    ),
  )
}

/** Seed or repetition of the runs whose files carry no suffix. */
export const USUAL_SEED = 1

/**
 * Where the results of a cell go, without an extension: `<GPU>_<algorithm>/<id>_<model>_<dataset>_<cap>W`, and for other
 * seeds than the usual one `..._seed2`, for further repetitions on a real board `..._run2`, for boards of the ensemble
 * `..._v3` before that, for services at another load `..._x2` or `..._max-load` before that.
 */
export function cellStem(cell: Cell): string {
  const { task, algorithm, seed, real, variant } = cell
  const board = variant === undefined ? '' : `_v${variant}`
  const suffix = seed === USUAL_SEED ? '' : `_${real ? 'run' : 'seed'}${seed}`
  return `${task.board}_${algorithm}/${loadStem(cell)}${board}${suffix}`
}

/** File-name stem of a task at the cell's load. */
export function loadStem({ task, loadFactor, maxLoad }: LoadedTask): string {
  return `${taskFileStem(task)}${loadFactor === undefined ? '' : `_x${loadFactor}`}${maxLoad ? '_max-load' : ''}`
}

type LoadedTask = Pick<Cell, 'task' | 'loadFactor' | 'maxLoad'>

const loadWords = ({ loadFactor, maxLoad }: LoadedTask) =>
  `${loadFactor === undefined ? '' : ` x ${loadFactor}`}${maxLoad ? ', most load' : ''}`

/** Set of tasks that the results of a cell belong to; undefined for the paper's. */
export function resultSet(cell: LoadedTask): string | undefined {
  return isServed(cell.task) ? `services${loadWords(cell)}` : cell.task.set
}

/** Name of the individual board: `A100~v3`, `A100 seed 2`. */
export function instanceOf(cell: Pick<Cell, 'task' | 'variant' | 'seed' | 'real'>): string {
  const { seed, real } = cell
  return `${boardName(cell)}${seed === USUAL_SEED ? '' : ` ${real ? 'run' : 'seed'} ${seed}`}`
}

export function cellLabel(cell: Cell): string {
  const { task, algorithm, seed, real } = cell
  const which = seed === USUAL_SEED ? '' : `, ${real ? 'run' : 'seed'} ${seed}`
  const what = isServed(task) ? task.name : `${task.model}/${task.dataset}`
  return `task ${task.id} ${what}${loadWords(cell)} on ${boardName(cell)}, ${algorithm}${which}`
}

/** The order of tables: by board and task, then by algorithm, then by seed. */
export function compareCells(a: Cell, b: Cell): number {
  return (
    a.task.board.localeCompare(b.task.board) ||
    a.task.id - b.task.id ||
    everyAlgorithm.indexOf(a.algorithm) - everyAlgorithm.indexOf(b.algorithm) ||
    (a.variant ?? 0) - (b.variant ?? 0) ||
    a.seed - b.seed
  )
}
