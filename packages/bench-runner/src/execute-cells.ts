import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, newCommand, parseCommand, writeFileAtomically } from '@pctodl/command-line'
import { anySignal, PctodlError } from '@pctodl/platform'
import type { Cell } from './cell.js'
import { ResultStore } from './result-store.js'
import { runCell } from './run-cell.js'

export interface ExecuteOptions {
  /** Time limit for a cell, in real time, s. */
  readonly timeout?: number | undefined
  readonly signal: AbortSignal
  readonly onBegin?: (cell: Cell, redoBecause: string) => void
  /** Called when the store has the cell's result or failure. */
  readonly onEnd: (cell: Cell) => void
}

/**
 * Runs cells one after the other in this process, each from a cold board, and stores the results. A cell that already
 * has a complete result is kept.
 */
export async function executeCells(cells: Iterable<Cell>, store: ResultStore, options: ExecuteOptions): Promise<void> {
  const { signal, timeout, onBegin, onEnd } = options
  for (const cell of cells) {
    signal.throwIfAborted()
    const earlier = store.finished(cell)
    if ('redoBecause' in earlier) {
      onBegin?.(cell, earlier.redoBecause)
      store.clear(cell)
      const limit = timeout === undefined ? undefined : AbortSignal.timeout(1000 * timeout)
      try {
        const { record, identity } = await runCell(cell, limit ? anySignal([signal, limit]) : signal)
        store.write(cell, record, identity)
      } catch (error) {
        signal.throwIfAborted()
        if (!limit?.aborted && !(error instanceof PctodlError)) throw error
        store.writeFailure(cell, limit?.aborted ? `took longer than ${timeout} s` : (error as PctodlError).message)
      }
    }
    onEnd(cell)
  }
}

/** Input of the processes that execute a matrix: plain JSON in a file. */
interface ExecutionPlan {
  readonly resultDir: string
  /** Time limit for a cell, s. */
  readonly timeout?: number | undefined
  readonly cells: readonly Cell[]
}

/**
 * Folder with one symbolic link for each cell that a worker has taken. The link's name is the index of the cell, and
 * its target is the name of the worker. A link is created together with its target, but a file could stay empty if its
 * writer is killed.
 */
const takenFolder = (planFile: string) => path.join(path.dirname(planFile), 'taken')

/** @param file path of the plan, in a new folder of its own */
export function writePlan(file: string, plan: ExecutionPlan): void {
  writeFileAtomically(file, `${JSON.stringify(plan)}\n`)
  mkdirSync(takenFolder(file))
}

/** Returns the cells that a worker has taken or, without `worker`, those that no worker has taken. */
export function cellsTakenBy(worker: string | undefined, planFile: string, cells: readonly Cell[]): Cell[] {
  const folder = takenFolder(planFile)
  const taken = new Set(readdirSync(folder))
  return cells.filter((_, i) =>
    worker === undefined ? !taken.has(`${i}`) : taken.has(`${i}`) && readlinkSync(path.join(folder, `${i}`)) === worker,
  )
}

/**
 * Yields the cells that a worker executes: first those that it took before a restart, then cells that no worker has
 * taken, until all are taken. It prefers a cell of its present task, whose plan it has already made, then one of a task
 * that no worker has begun. Taking a cell means creating a link, which only one process can do.
 */
function* cellsFor(worker: string, planFile: string, cells: readonly Cell[]): Generator<Cell> {
  const taskOf = ({ task }: Cell) => `${task.board} ${task.id}`
  yield* cellsTakenBy(worker, planFile, cells)
  let present: string | undefined
  for (;;) {
    const left = cellsTakenBy(undefined, planFile, cells)
    const begun = new Set(cells.filter((cell) => !left.includes(cell)).map(taskOf))
    const next =
      left.find((cell) => taskOf(cell) === present) ?? left.find((cell) => !begun.has(taskOf(cell))) ?? left[0]
    if (!next) return
    try {
      symlinkSync(worker, path.join(takenFolder(planFile), `${cells.indexOf(next)}`))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    present = taskOf(next)
    yield next
  }
}

/**
 * Executes a worker's cells of a plan, and prints the index of each when it ends. The exit code is 0 even if a cell
 * failed, because failures are stored with the results. After any other code, the worker can be started again; finished
 * cells are kept.
 */
export const executePlan: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner execute',
      description: 'Execute cells of a plan that bench-runner has written.',
      example: 'bench-runner execute --plan plan.json --worker 1',
    },
    terminal,
  )
    .requiredOption('--plan <file>', 'the plan')
    .requiredOption('--worker <name>', 'name of this worker; it runs the cells that no other worker has taken')
  await parseCommand(command, argv)
  const { plan, worker } = command.opts<{ plan: string; worker: string }>()
  const { resultDir, timeout, cells } = JSON.parse(readFileSync(plan, 'utf8')) as ExecutionPlan
  await executeCells(cellsFor(worker, plan, cells), new ResultStore(resultDir), {
    timeout,
    signal: terminal.signal,
    onEnd: (cell) => terminal.stdout.write(`${cells.indexOf(cell)}\n`),
  })
  return 0
}
