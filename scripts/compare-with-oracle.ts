/**
 * How good pctodl's plans are: for each fixed-cap task of the matrix, the true throughput of the planned tenants at the best
 * clock under the cap, over that of the best configuration an exhaustive look at the simulator's truth finds at a share step
 * of 10 %. Plans have a step of 5 %, so they can win.
 *
 *   pnpm compare-with-oracle [board ...]
 */
import { tasksOf } from '@pctodl/bench-runner'
import { calibratedBoards, findOracle, simulateSteadyState } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { networkName, smClocksAt } from '@pctodl/platform'
import { planPartition } from '@pctodl/scheduler'

const boards = process.argv.length > 2 ? process.argv.slice(2) : calibratedBoards
for (const board of boards) {
  const predictor = loadPerfModel(board)
  const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
  const ratios: number[] = []
  console.log(`\n| ${board} task | network | cap, W | best found, samples/s | plan | tenants | ratio |`)
  console.log('| --- | --- | --- | --- | --- | --- | --- |')
  for (const task of tasksOf(board)) {
    const { powerCapW } = task
    if (powerCapW === null) continue
    const model = networkName(task.model)
    const oracle = findOracle(board, model, powerCapW)
    if (!oracle) throw new Error(`no configuration of ${model} keeps ${powerCapW} W on ${board}`)
    const plan = planPartition(predictor, { model, powerCapW })
    const throughput = smClocksAt(predictor.spec, plan.memClockMhz)!
      .map((smClockMhz) => simulate({ ...plan, smClockMhz }))
      .filter(({ powerW }) => powerW <= powerCapW)
      .reduce((best, state) => Math.max(best, state.throughput), 0)
    const ratio = throughput / oracle.throughput
    ratios.push(ratio)
    console.log(
      `| ${task.id} | ${model} | ${powerCapW} | ${oracle.throughput.toFixed(0)} | ${throughput.toFixed(0)} | ` +
        `${plan.tenants.length} | ${ratio.toFixed(3)} |`,
    )
  }
  ratios.sort((a, b) => a - b)
  console.log(`${board}: median ${ratios[ratios.length >> 1]!.toFixed(3)}, worst ${ratios[0]!.toFixed(3)}`)
}
