import { type Detection, detectGpus } from '@pctodl/backend'
import { asUsage, jsonText, type Terminal, UsageError } from '@pctodl/command-line'
import { findGpuSpec, PctodlError } from '@pctodl/platform'
import type { RawBenchOptions } from './matrix-options.js'
import { benchTasks } from './tasks.js'

/** Boards to run on, and whether they are real or simulated. */
export interface Place {
  readonly boards: readonly string[]
  readonly isReal: boolean
  /** Why a simulated board is used although a real one was requested. */
  readonly note?: string
}

const boardsWithTasks = [...new Set(benchTasks.map(({ board }) => board))]

/**
 * Resolves `--gpu` and `--backend`. Queries the driver only if the result depends on the boards of this machine.
 *
 * @param detect returns the boards of this machine
 * @throws UsageError for an unknown board, or if no board is named and none is found; PctodlError `NO_BOARD` if a real
 *   board is requested and missing
 */
export function settlePlace(
  { gpu, backend, executor }: Pick<RawBenchOptions, 'gpu' | 'backend' | 'executor'>,
  detect: () => Detection = detectGpus,
): Place {
  if (gpu !== undefined && backend === 'sim') return { boards: boardsNamed(gpu), isReal: false }
  // The boards are in the cluster's nodes; each run checks whether its node has one.
  if (gpu !== undefined && backend === 'nvml' && executor === 'slurm') return { boards: boardsNamed(gpu), isReal: true }
  const { gpus, notes } = detect()
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

/** Converts a name, a comma-separated list, or `all` (the boards that have tasks) to board keys without duplicates. */
function boardsNamed(text: string): string[] {
  if (text === 'all') return boardsWithTasks
  return asUsage(() => [...new Set(text.split(',').map((name) => findGpuSpec(name.trim()).key))])
}

/** `--detect-gpu`: prints the boards of this machine and the tasks of each. Returns 1 if no board has tasks. */
export function printDetectedGpus({ json = false }: { readonly json?: boolean }, terminal: Terminal): number {
  const { gpus, notes } = detectGpus()
  const boards = gpus.map((gpu) => {
    return { ...gpu, taskIds: benchTasks.filter(({ board }) => board === gpu.key).map(({ id }) => id) }
  })
  if (json) terminal.stdout.write(jsonText({ boards, notes }))
  else {
    for (const { index, name, uuid, key, taskIds } of boards) {
      const tasks = taskIds.length === 0 ? 'no tasks in the matrix' : `--gpu ${key}, tasks ${taskIds.join(' ')}`
      terminal.stdout.write(`${index}  ${name} (${uuid}): ${tasks}\n`)
    }
    for (const note of notes) terminal.stderr.write(`${note}\n`)
  }
  return boards.some(({ taskIds }) => taskIds.length > 0) ? 0 : 1
}
