/**
 * How well the controllers hold a cap: every task of the matrix on the simulated boards, five seeds, all algorithms, and
 * pctodl under disturbances, judged by the boards' truth. Prints the gates with pass or fail and writes the table into the
 * scheduler's README.
 *
 *   pnpm eval:control [--seeds 5] [--tasks 6,29] [--no-disturbances] [--no-write] [--out FILE.json]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { benchTasks } from '../packages/bench-runner/src/tasks.js'
import type { CaseAlgorithm, CaseResult } from './eval-control/run-case.js'
import { report } from './eval-control/tables.js'
import type { TaskOrder } from './eval-control/worker.js'

const WORKERS = 2
const README = path.resolve(import.meta.dirname, '../packages/scheduler/README.md')
const BEGIN = '<!-- eval:control begin -->'
const END = '<!-- eval:control end -->'
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
  },
})
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1)
const wanted = values.tasks?.split(',').map(Number)
const orders: TaskOrder[] = benchTasks
  .filter(({ id }) => wanted === undefined || wanted.includes(id))
  // The long ones first, so that no worker ends alone with one.
  .sort((a, b) => b.id - a.id)
  .map(({ board, id }) => ({ board, taskId: id, algorithms, seeds, disturbed: !values['no-disturbances'] }))

const started = performance.now()
const results = await runAll(orders)
results.sort((a, b) => a.taskId - b.taskId || a.board.localeCompare(b.board) || a.seed - b.seed)
const { markdown, passes } = report(results)
const minutes = ((performance.now() - started) / 60_000).toFixed(1)
process.stdout.write(`${markdown}\n\n${results.length} runs in ${minutes} minutes\n`)
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(results)}\n`)
if (!values['no-write'] && wanted === undefined) {
  const text = readFileSync(README, 'utf8')
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`${README} has no place for the table: ${BEGIN} ... ${END}`)
  writeFileSync(README, `${before}${BEGIN}\n\n${markdown}\n\n${END}${after}`)
}
process.exitCode = passes ? 0 : 1

async function runAll(pending: readonly TaskOrder[]): Promise<CaseResult[]> {
  const queue = [...pending]
  const done: CaseResult[] = []
  const work = async () => {
    const worker = fork(path.resolve(import.meta.dirname, 'eval-control/worker.ts'), { execArgv: process.execArgv })
    try {
      for (let order = queue.shift(); order; order = queue.shift()) {
        const of = await answer(worker, order)
        done.push(...of)
        process.stderr.write(
          `${pending.length - queue.length}/${pending.length}: ${order.board} task ${order.taskId}\n`,
        )
      }
    } finally {
      worker.kill()
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  return done
}

function answer(worker: ChildProcess, order: TaskOrder): Promise<CaseResult[]> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      reject(new Error(`a worker ended with code ${code} in task ${order.taskId}`))
    worker.once('exit', onExit)
    worker.once('message', (results) => {
      worker.off('exit', onExit)
      resolve(results as CaseResult[])
    })
    worker.send(order)
  })
}
