import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { type CommandFunction, newCommand, parseCommand, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { type Cell, cellLabel } from './cell.js'
import { executeCells } from './execute-cells.js'
import { ResultStore } from './result-store.js'

/** Folder in the result folder for plans, scripts and logs of a run; removed when the run ends. */
export const EXECUTION_FOLDER = '.execution'

/** Input of the processes that execute a matrix: plain JSON in a file of the result folder. */
export interface ExecutionPlan {
  readonly resultDir: string
  readonly timeoutMs: number | null
  readonly cells: readonly Cell[]
}

/**
 * Folder with one symbolic link for each cell that a worker has taken, named by the index of the cell and pointing to
 * the name of the worker. A link exists with its content or not at all, even if its maker is killed; a file may be empty.
 */
const takenFolder = (planFile: string) => path.join(path.dirname(planFile), 'taken')

/** @returns the file of the plan */
export function writePlan(plan: ExecutionPlan): string {
  const file = path.join(plan.resultDir, EXECUTION_FOLDER, 'plan.json')
  writeFileAtomically(file, `${JSON.stringify(plan)}\n`)
  mkdirSync(takenFolder(file))
  return file
}

/** @throws InvalidInputError for a file that is no plan */
function readPlan(file: string): ExecutionPlan {
  const plan = JSON.parse(readFileSync(file, 'utf8')) as ExecutionPlan
  if (!Array.isArray(plan.cells)) throw new InvalidInputError(file, typeof plan.cells, 'a plan with cells')
  return plan
}

/** The cells that a worker has taken; without `worker`, those that no worker has taken. */
export function cellsTakenBy(worker: string | undefined, planFile: string, cells: readonly Cell[]): Cell[] {
  const folder = takenFolder(planFile)
  const taken = new Set(readdirSync(folder))
  return cells.filter((_, i) => worker === (taken.has(`${i}`) ? readlinkSync(path.join(folder, `${i}`)) : undefined))
}

const taskOf = ({ task }: Cell) => `${task.board} ${task.id}`

/**
 * Takes the next cell for a worker: one of its present task, whose plan it has made, else one of a task that no worker
 * has begun, else any. A cell is taken by creating a link, which only one process can do.
 */
function take(worker: string, planFile: string, cells: readonly Cell[], present: string | undefined): Cell | undefined {
  for (;;) {
    const taken = new Set(readdirSync(takenFolder(planFile)).map(Number))
    const begun = new Set(cells.filter((_, i) => taken.has(i)).map(taskOf))
    const rank = (task: string) => (task === present ? 0 : begun.has(task) ? 2 : 1)
    const left = cells.map((cell, i) => ({ cell, i })).filter(({ i }) => !taken.has(i))
    const [first] = left.sort((a, b) => rank(taskOf(a.cell)) - rank(taskOf(b.cell)))
    if (!first) return undefined
    try {
      symlinkSync(worker, path.join(takenFolder(planFile), `${first.i}`))
      return first.cell
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/**
 * Execute cells of a plan until all are taken; a worker that is started again begins with those that it took before.
 * The exit code is 0 even if a cell failed, since its failure is stored with the results. Any other code means that the
 * worker can be started again; finished cells are kept.
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
  const { resultDir, timeoutMs, cells } = readPlan(plan)
  const store = new ResultStore(resultDir)
  const execute = (some: readonly Cell[]) =>
    executeCells(some, store, {
      ...(timeoutMs === null ? {} : { timeoutMs }),
      signal: terminal.signal,
      onEnd: (cell, ending) => terminal.stdout.write(`${JSON.stringify({ label: cellLabel(cell), ending })}\n`),
    })
  await execute(cellsTakenBy(worker, plan, cells))
  let present: string | undefined
  for (let cell = take(worker, plan, cells, present); cell; cell = take(worker, plan, cells, present)) {
    present = taskOf(cell)
    await execute([cell])
  }
  return 0
}
