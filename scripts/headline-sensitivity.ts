/**
 * How much of the first table hangs on what nobody has measured well: how near to its limit the firmware holds a board, and the host
 * that feeds it. Prints pctodl's throughput over the best other algorithm's that holds, for each firmware and host.
 *
 *   npx tsx --conditions=@pctodl/source scripts/headline-sensitivity.ts [--tasks 6 13 20 24] [--iterations 8]
 */
import { parseArgs } from 'node:util'
import { type AlgorithmName, benchTasks } from '@pctodl/bench-runner'
import { hostNames, physicsOfBoard, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'
import { standings, summarizeRun } from '@pctodl/report'
import { runTaskOn } from '../packages/bench-runner/src/run-task.js'

const { values, positionals } = parseArgs({
  options: { tasks: { type: 'string', default: '6' }, iterations: { type: 'string', default: '8' } },
  allowPositionals: true,
})
const ids = [values.tasks, ...positionals].map(Number)
const algorithms: readonly AlgorithmName[] = ['pctodl', 'directcap-tuned', 'limit-agent', 'equal-split']

/** Share of its limit that the firmware leaves unused. */
const margins = [0, 0.002, 0.005, 0.01, 0.02]

async function summaryOf(task: (typeof benchTasks)[number], algorithm: AlgorithmName, margin: number, host?: string) {
  const physics = physicsOfBoard(task.board)
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(task.board, {
    clock,
    physics: { ...physics, firmware: { ...physics.firmware, margin } },
    ...(host === undefined ? {} : { host: host as never }),
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

const settings = [
  ...margins.map((margin) => ({ name: `firmware leaves ${100 * margin} %`, margin, host: undefined })),
  ...hostNames.map((host) => ({ name: `host ${host}`, margin: undefined, host })),
]
console.log(`| setting | ${ids.map((id) => `task ${id}`).join(' | ')} | geometric mean |`)
console.log(`| --- |${' ---: |'.repeat(ids.length + 1)}`)
for (const { name, margin, host } of settings) {
  const summaries = []
  for (const task of benchTasks.filter(({ id }) => ids.includes(id))) {
    const own = physicsOfBoard(task.board).firmware.margin
    for (const algorithm of algorithms) summaries.push(await summaryOf(task, algorithm, margin ?? own, host))
  }
  const { tasks, throughputRatio } = standings(summaries)!
  const cells = ids.map((id) => {
    const task = tasks.find(({ taskId }) => taskId === id)
    return task?.ratio == null ? (task?.outcome ?? '-') : `${task.ratio.toFixed(3)} (${task.rival!.algorithm})`
  })
  console.log(`| ${name} | ${cells.join(' | ')} | ${throughputRatio?.toFixed(3) ?? '-'} |`)
}
