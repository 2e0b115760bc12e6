import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  type CommandFunction,
  integerFrom,
  newCommand,
  parseCommand,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { type Cell, cellLabel } from './cell.js'
import { executeCells } from './execute-cells.js'
import { ResultStore } from './result-store.js'

/** Folder in the result folder for plans, scripts and logs of a run; removed when the run ends. */
export const EXECUTION_FOLDER = '.execution'

/** Input of a process that executes part of a matrix: plain JSON in a file of the result folder. */
export interface ExecutionPlan {
  readonly resultDir: string
  readonly timeoutMs: number | null
  /** Cells of each job, which one process runs one after the other. */
  readonly jobs: readonly (readonly Cell[])[]
}

/** Cells of each task together, so that a process plans once for all of them. */
function groupedByTask(cells: readonly Cell[]): Cell[][] {
  const tasks = [...new Set(cells.map(({ task }) => task))]
  return tasks.map((task) => cells.filter((cell) => cell.task === task))
}

/**
 * Jobs of one task each, about `jobCount` or more. The first parts of all tasks come first: a process that takes them
 * in turn goes on with tasks that it has planned where the number of processes divides that of tasks.
 */
export function cutByTask(cells: readonly Cell[], jobCount: number): Cell[][] {
  const tasks = groupedByTask(cells)
  const parts = Math.ceil(jobCount / tasks.length)
  const jobs = Array.from({ length: parts }, (_, part) =>
    tasks.map((own) => own.filter((_, i) => Math.floor((i * parts) / own.length) === part)),
  )
  return jobs.flat().filter((job) => job.length > 0)
}

/**
 * Cut cells into jobs of about equal work, by task. Work is counted in iterations, because a task with a changing cap
 * takes 150 of them.
 */
export function cutIntoJobs(cells: readonly Cell[], jobCount: number): Cell[][] {
  const total = cells.reduce((sum, { iterations }) => sum + iterations, 0)
  const jobs: Cell[][] = []
  let done = 0
  for (const cell of groupedByTask(cells).flat()) {
    const job = Math.min(jobCount - 1, Math.floor((done / total) * jobCount))
    jobs[job] ??= []
    jobs[job].push(cell)
    done += cell.iterations
  }
  return jobs.filter((job) => job !== undefined)
}

/**
 * Write the plan to a file that is named after its content.
 *
 * @returns the file, named after the plan's content, so that the same plan is the same file
 */
export function writePlan(plan: ExecutionPlan): string {
  const json = `${JSON.stringify(plan)}\n`
  const name = `plan-${createHash('sha256').update(json).digest('hex').slice(0, 12)}`
  const file = path.join(plan.resultDir, EXECUTION_FOLDER, name, 'plan.json')
  writeFileAtomically(file, json)
  return file
}

/** @throws InvalidInputError for a file that is no plan */
function readPlan(file: string): ExecutionPlan {
  const plan = JSON.parse(readFileSync(file, 'utf8')) as ExecutionPlan
  if (!Array.isArray(plan.jobs)) throw new InvalidInputError(file, typeof plan.jobs, 'a plan with jobs')
  return plan
}

const takenFile = (planFile: string, job: number) => path.join(path.dirname(planFile), `taken-${job}`)

/** Indices of the jobs that a worker of this machine has taken; without `worker`, of those that nobody has taken. */
export function jobsTakenBy(worker: string | undefined, planFile: string, jobCount: number): number[] {
  return Array.from({ length: jobCount }, (_, job) => job).filter((job) => {
    const file = takenFile(planFile, job)
    return worker === (existsSync(file) ? readFileSync(file, 'utf8') : undefined)
  })
}

/** Claim a job by creating a file; only one process can succeed. */
function take(worker: string, planFile: string, job: number): boolean {
  try {
    writeFileSync(takenFile(planFile, job), worker, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Execute jobs of a plan. An element of a Slurm array executes one; the processes of a parallel run take one after the
 * other. The exit code is 0 even where a cell failed, since its failure is stored with the results. Any other code
 * means that the job can be started again; finished cells are kept.
 */
export const executeJobs: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner execute',
      description: 'Execute jobs of a plan that bench-runner has written.',
      example: 'bench-runner execute --plan plan.json --job 0',
    },
    terminal,
  )
    .requiredOption('--plan <file>', 'the plan')
    .option('--job <n>', 'index of one job', integerFrom(0))
    .option('--worker <name>', 'all jobs that no other worker has taken')
  await parseCommand(command, argv)
  const { plan, job, worker = '' } = command.opts<{ plan: string; job?: number; worker?: string }>()
  const { resultDir, timeoutMs, jobs } = readPlan(plan)
  if (job !== undefined && !jobs[job]) throw new UsageError(`--job: the plan has the jobs 0 to ${jobs.length - 1}`)
  const store = new ResultStore(resultDir)
  for (const [i, cells] of jobs.entries()) {
    if (job === undefined ? !take(worker, plan, i) : job !== i) continue
    await executeCells(cells, store, {
      ...(timeoutMs === null ? {} : { timeoutMs }),
      signal: terminal.signal,
      onEnd: (cell, ending) => terminal.stdout.write(`${JSON.stringify({ label: cellLabel(cell), ending })}\n`),
    })
  }
  return 0
}
