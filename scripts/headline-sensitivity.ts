/**
 * How much of the first table hangs on what nobody has measured well: how near to its limit the firmware holds a board and by which
 * law, and the host that feeds it. Prints pctodl's throughput over the best other algorithm's that holds, for each firmware and host.
 *
 *   npx tsx --conditions=@pctodl/source scripts/headline-sensitivity.ts [--tasks 6 13 20 24] [--iterations 8] [--write]
 *
 * Half a minute a task on a quiet core; `--write` puts the table into the README of bench-runner.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type AlgorithmName, benchTasks } from '@pctodl/bench-runner'
import { type HostName, hostNames, physicsOfBoard, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'
import { standings, summarizeRun } from '@pctodl/report'
import { runTaskOn } from '../packages/bench-runner/src/run-task.js'
import { printUsage } from './evaluation/print-usage.js'
import { writeReadmeBlock } from './evaluation/readme-block.js'

const { values, positionals } = parseArgs({
  options: {
    tasks: { type: 'string', default: '6' },
    iterations: { type: 'string', default: '8' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
if (values.help) printUsage(import.meta.filename)
const ids = [values.tasks, ...positionals].map(Number)
const algorithms: readonly AlgorithmName[] = ['pctodl', 'plan-limit-step', 'equal-split-step']

type Firmware = ReturnType<typeof physicsOfBoard>['firmware']

interface Setting {
  readonly name: string
  readonly firmware?: Partial<Firmware>
  readonly host?: HostName
}

const integral = [0, 0.002, 0.005, 0.01, 0.02].map(
  (margin): Setting => ({
    name: `firmware leaves ${100 * margin} % of its limit`,
    firmware: { law: 'integral', margin },
  }),
)
const stepping = [0.995, 0.98].map(
  (hysteresis): Setting => ({
    name: `firmware in whole states, up again below ${100 * hysteresis} %`,
    firmware: { law: 'step', margin: 0, hysteresis },
  }),
)
const hosts = hostNames.map((host): Setting => ({ name: `host ${host}`, host }))

async function summaryOf(task: (typeof benchTasks)[number], algorithm: AlgorithmName, { firmware, host }: Setting) {
  const physics = physicsOfBoard(task.board)
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(task.board, {
    clock,
    physics: { ...physics, firmware: { ...physics.firmware, ...firmware } },
    ...(host === undefined ? {} : { host }),
  })
  const board = {
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    identity: { name: task.board, uuid: '', driverVersion: '', tenants: 'simulated' },
    trueEnergyJ: () => gpu.truth().meteredEnergyJ,
    close: async () => {},
  }
  return summarizeRun(await runTaskOn(board, task, algorithm, { iterations: Number(values.iterations) }))
}

const lines = [
  `| setting | ${ids.map((id) => `task ${id}`).join(' | ')} | geometric mean |`,
  `| --- |${' ---: |'.repeat(ids.length + 1)}`,
]
for (const setting of [...integral, ...stepping, ...hosts]) {
  const summaries = []
  for (const task of benchTasks.filter(({ id }) => ids.includes(id))) {
    for (const algorithm of algorithms) summaries.push(await summaryOf(task, algorithm, setting))
  }
  const { tasks, ratio } = standings(summaries)!
  const cells = ids.map((id) => {
    const task = tasks.find(({ taskId }) => taskId === id)
    return task?.ratio == null ? (task?.outcome ?? '-') : `${task.ratio.value.toFixed(3)} (${task.rival!.algorithm})`
  })
  lines.push(`| ${setting.name} | ${cells.join(' | ')} | ${ratio?.value.toFixed(3) ?? '-'} |`)
  process.stderr.write(`${lines.at(-1)}\n`)
}
process.stdout.write(`${lines.join('\n')}\n`)
if (values.write) {
  const readme = path.resolve(import.meta.dirname, '../packages/bench-runner/README.md')
  writeReadmeBlock(readme, 'headline:sensitivity', lines.join('\n'))
}
