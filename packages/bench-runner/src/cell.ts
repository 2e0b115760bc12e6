import path from 'node:path'
import { given } from '@pctodl/platform'
import { matrixAlgorithms } from '@pctodl/report'
import { WINDOW_MS } from '@pctodl/run'
import { type AlgorithmName, knowsTask, type PolicyOptions } from './algorithms.js'
import type { BenchOptions } from './matrix-options.js'
import { boardName, isServed, type Task, taskFileStem } from './tasks.js'

/** One run of one algorithm on one task: the unit that is run, recorded, resumed and compared. */
export interface Cell extends PolicyOptions {
  readonly powerMarginW: number
  readonly shadow: boolean
  readonly task: Task
  readonly algorithm: AlgorithmName
  /** How tenants run on a real board; absent for a simulated board. */
  readonly real?: {
    /** `torch`, `onnx`, or a command that speaks the tenant protocol. */
    readonly worker: string
    /** Folder with a subfolder of images for each dataset; absent for synthetic images. */
    readonly datasetPath?: string
  }
  /** Seed of a simulated board's sensor error and noise. On a real board, the number of the repetition. */
  readonly seed: number
  /** Measuring windows of 5 s. */
  readonly iterations: number
  /** Services: factor on the rates. Absent for 1. */
  readonly loadFactor?: number
  /** Services: search for the highest load. */
  readonly maxLoad?: true
}

/** Returns the cells that options request, in the order in which they run. */
export function cellsOf(options: BenchOptions): Cell[] {
  const { tasks, algorithms, isReal, worker, datasetPath, params, loadFactor = [1], maxLoad, variants } = options
  const images = datasetPath === undefined ? {} : { datasetPath: path.resolve(datasetPath) }
  const firstSeed = isReal ? 1 : options.seed
  const seeds = Array.from({ length: options.seeds }, (_, i) => firstSeed + i)
  const boards = variants === undefined ? [undefined] : Array.from({ length: variants }, (_, i) => i + 1)
  const runs = boards.flatMap((variant) => seeds.map((seed) => ({ variant, seed })))
  const pairs = algorithms.flatMap((algorithm) =>
    // An algorithm that does not support a task has no cell for it, as in the paper's table.
    tasks.flatMap((task) => (knowsTask(algorithm, task) ? [{ task, algorithm }] : [])),
  )
  return pairs.flatMap(({ task, algorithm }) =>
    (isServed(task) ? loadFactor : [1]).flatMap((factor) =>
      runs.map(({ variant, seed }) => ({
        task,
        algorithm,
        ...(isReal ? { real: { worker, ...images } } : {}),
        ...given({ variant }),
        seed,
        iterations: isServed(task)
          ? Math.ceil((1000 * task.durationS) / WINDOW_MS)
          : (task.fixedIterations ?? options.iterations),
        powerMarginW: options.powerMargin,
        shadow: options.enableShadow ?? false,
        ...(params === undefined ? {} : { parametersFolder: path.resolve(params) }),
        ...(isServed(task) && maxLoad ? { maxLoad } : {}),
        ...(factor === 1 ? {} : { loadFactor: factor }),
      })),
    ),
  )
}

/** Names the seed, or the repetition on a real board: `seed 2`, `run 2`. The first one has no name. */
function repetitionOf({ seed, real }: Pick<Cell, 'seed' | 'real'>, before: string, between = ' '): string {
  return seed === 1 ? '' : `${before}${real ? 'run' : 'seed'}${between}${seed}`
}

/**
 * Path of a cell's results without extension: `<GPU>_<algorithm>/<id>_<model>_<dataset>_<cap>W`. Suffixes that apply
 * are added: the load of services (`_x2`, `_max-load`), the board of the ensemble (`_v3`), and another seed (`_seed2`)
 * or repetition on a real board (`_run2`).
 */
export function cellStem(cell: Cell): string {
  const { task, algorithm, variant } = cell
  const board = variant === undefined ? '' : `_v${variant}`
  return `${task.board}_${algorithm}/${loadStem(cell)}${board}${repetitionOf(cell, '_', '')}`
}

/** File-name stem of a task at the cell's load. */
export function loadStem({ task, loadFactor, maxLoad }: LoadedTask): string {
  return `${taskFileStem(task)}${loadFactor === undefined ? '' : `_x${loadFactor}`}${maxLoad ? '_max-load' : ''}`
}

type LoadedTask = Pick<Cell, 'task' | 'loadFactor' | 'maxLoad'>

const loadWords = ({ loadFactor, maxLoad }: LoadedTask) =>
  `${loadFactor === undefined ? '' : ` x ${loadFactor}`}${maxLoad ? ', most load' : ''}`

/** Name of the task set of a cell; undefined for the paper's set. */
export function resultSet(cell: LoadedTask): string | undefined {
  return isServed(cell.task) ? `services${loadWords(cell)}` : cell.task.set
}

/** Name of the individual board: `A100~v3`, `A100 seed 2`. */
export function instanceOf(cell: Cell): string {
  return `${boardName(cell)}${repetitionOf(cell, ' ')}`
}

export function cellLabel(cell: Cell): string {
  const { task, algorithm } = cell
  const what = isServed(task) ? task.name : `${task.model}/${task.dataset}`
  return `task ${task.id} ${what}${loadWords(cell)} on ${boardName(cell)}, ${algorithm}${repetitionOf(cell, ', ')}`
}

/** Order of tables: by board and task, then by algorithm, then by seed. */
export function compareCells(a: Cell, b: Cell): number {
  return (
    a.task.board.localeCompare(b.task.board) ||
    a.task.id - b.task.id ||
    matrixAlgorithms.indexOf(a.algorithm) - matrixAlgorithms.indexOf(b.algorithm) ||
    (a.variant ?? 0) - (b.variant ?? 0) ||
    a.seed - b.seed
  )
}
