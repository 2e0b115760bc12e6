/**
 * How well the controllers hold a cap: every task of the matrix on the simulated boards, five seeds, all algorithms, and
 * pctodl under disturbances, judged by the boards' truth. Prints the gates with pass or fail and writes the table into the
 * scheduler's README.
 *
 *   pnpm eval:control [--seeds 5] [--tasks 6,29] [--no-disturbances] [--no-write] [--out FILE.json]
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { benchTasks } from '../packages/bench-runner/src/tasks.js'
import type { CaseAlgorithm, CaseResult } from './eval-control/run-case.js'
import { report } from './eval-control/tables.js'
import type { TaskOrder } from './eval-control/worker.js'
import { printUsage } from './evaluation/print-usage.js'
import { writeReadmeBlock } from './evaluation/readme-block.js'
import { runInWorkers } from './evaluation/run-in-workers.js'

const WORKERS = 2
const README = path.resolve(import.meta.dirname, '../packages/scheduler/README.md')
const WORKER = path.resolve(import.meta.dirname, 'eval-control/worker.ts')
const algorithms: readonly CaseAlgorithm[] = [
  'pctodl',
  'reference',
  'static-best',
  'morak',
  'batchdvfs',
  'directcap',
  'powercap',
]

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    tasks: { type: 'string' },
    'no-disturbances': { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) printUsage(import.meta.filename)
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1)
const wanted = values.tasks?.split(',').map(Number)
const orders: TaskOrder[] = benchTasks
  .filter(({ id }) => wanted === undefined || wanted.includes(id))
  // The long ones first, so that no worker ends alone with one.
  .sort((a, b) => b.id - a.id)
  .map(({ board, id }) => ({ board, taskId: id, algorithms, seeds, disturbed: !values['no-disturbances'] }))

const started = performance.now()
const answers = await runInWorkers<TaskOrder, CaseResult[]>(WORKER, WORKERS, orders, ({ board, taskId }, left) =>
  process.stderr.write(`${orders.length - left}/${orders.length}: ${board} task ${taskId}\n`),
)
const results = answers.flat()
results.sort((a, b) => a.taskId - b.taskId || a.board.localeCompare(b.board) || a.seed - b.seed)
const { markdown, passes } = report(results)
const minutes = ((performance.now() - started) / 60_000).toFixed(1)
process.stdout.write(`${markdown}\n\n${results.length} runs in ${minutes} minutes\n`)
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(results)}\n`)
if (!values['no-write'] && wanted === undefined) {
  writeReadmeBlock(README, 'eval:control', markdown)
}
process.exitCode = passes ? 0 : 1
