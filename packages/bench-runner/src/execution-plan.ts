import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import type { Cell } from './cell.js'

/** Folder beside the results for plans, scripts and logs of a run; gone when the run ends. */
export const EXECUTION_FOLDER = '.execution'

/** What a process that executes part of a matrix needs to know: plain JSON in a file of the result folder. */
export interface ExecutionPlan {
  readonly resultDir: string
  readonly failFast: boolean
  readonly timeoutMs: number | null
  /** Each job is executed by one process, its cells one after the other. */
  readonly jobs: readonly (readonly Cell[])[]
}

/**
 * Cut cells into jobs of about equal work, keeping their order. Work is counted in iterations: a task with a changing cap
 * takes 150 of them.
 */
export function cutIntoJobs(cells: readonly Cell[], jobCount: number): Cell[][] {
  const total = cells.reduce((sum, { iterations }) => sum + iterations, 0)
  const jobs: Cell[][] = []
  let done = 0
  for (const cell of cells) {
    const job = Math.min(jobCount - 1, Math.floor((done / total) * jobCount))
    jobs[job] ??= []
    jobs[job].push(cell)
    done += cell.iterations
  }
  return jobs.filter((job) => job !== undefined)
}

/** @returns the file, named after the plan's content, so that the same plan is the same file */
export function writePlan(plan: ExecutionPlan): string {
  const json = `${JSON.stringify(plan)}\n`
  const name = `plan-${createHash('sha256').update(json).digest('hex').slice(0, 12)}`
  const file = path.join(plan.resultDir, EXECUTION_FOLDER, name, 'plan.json')
  writeFileAtomically(file, json)
  return file
}

/** @throws InvalidInputError for a file that is no plan */
export function readPlan(file: string): ExecutionPlan {
  const plan = JSON.parse(readFileSync(file, 'utf8')) as ExecutionPlan
  if (!Array.isArray(plan.jobs)) throw new InvalidInputError(file, typeof plan.jobs, 'a plan with jobs')
  return plan
}
