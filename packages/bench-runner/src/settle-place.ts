import type { Detection } from '@pctodl/backend'
import { asUsage, UsageError } from '@pctodl/command-line'
import { findGpuSpec, PctodlError } from '@pctodl/platform'
import type { BackendKind } from '@pctodl/run'
import { benchTasks } from './tasks.js'

/** The options that decide it. */
export interface PlaceOptions {
  readonly gpu?: string
  readonly backend: BackendKind
  readonly executor: 'local' | 'slurm'
}

/** The boards to run on, and whether these are this machine's or simulated. */
export interface Place {
  /** Keys, each once. */
  readonly boards: readonly string[]
  readonly isReal: boolean
  /** Why it is not the real board although one was looked for. */
  readonly note?: string
}

const boardsWithTasks = [...new Set(benchTasks.map(({ board }) => board))]

/**
 * Settle `--gpu` and `--backend`. The driver is looked at only where the call needs to know what is in this machine.
 *
 * @param detect what is in this machine
 * @throws UsageError for a board that nobody knows, or none named where none is found; PctodlError `NO_BOARD` where a real
 *   board is asked for and is not there
 */
export async function settlePlace(
  { gpu, backend, executor }: PlaceOptions,
  detect: () => Promise<Detection> = detectBoards,
): Promise<Place> {
  if (gpu !== undefined && backend === 'sim') return { boards: boardsNamed(gpu), isReal: false }
  // The boards are in the nodes of the cluster; each run will see whether its node has one.
  if (gpu !== undefined && backend === 'nvml' && executor === 'slurm') return { boards: boardsNamed(gpu), isReal: true }
  const { gpus, notes } = await detect()
  const found = [...new Set(gpus.map(({ key }) => key))].filter((key) => key !== null)
  const boards = gpu === undefined ? found.filter((key) => boardsWithTasks.includes(key)) : boardsNamed(gpu)
  const inThisMachine =
    gpus.length === 0 ? notes.join('; ') : `in this machine: ${gpus.map(({ name }) => name).join(', ')}`
  if (boards.length === 0) {
    throw new UsageError(`--gpu: name a board: ${[...boardsWithTasks, 'all'].join(', ')} (${inThisMachine})`)
  }
  const missing = boards.filter((board) => !found.includes(board))
  if (missing.length === 0) return { boards, isReal: backend !== 'sim' }
  if (backend === 'nvml') {
    throw new PctodlError(
      'NO_BOARD',
      `no ${missing.join(' and no ')} to run on: ${inThisMachine}; --backend sim runs on a simulated one`,
    )
  }
  return { boards, isReal: false, note: `a simulated ${boards.join(' and ')} runs, for ${inThisMachine}` }
}

/** A name, a comma list, or `all` the boards that have tasks; as board keys, each once. */
function boardsNamed(text: string): string[] {
  if (text === 'all') return boardsWithTasks
  return asUsage(() => [...new Set(text.split(',').map((name) => findGpuSpec(name.trim()).key))])
}

/** Loaded when needed, for it takes the driver's library with it. */
export async function detectBoards(): Promise<Detection> {
  const { detectGpus } = await import('@pctodl/backend')
  return detectGpus()
}
