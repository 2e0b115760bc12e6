/**
 * Searches the highest factor on the rates of random tasks of services, on random variants of the boards, at which 99 %
 * of the requests of each service meet their objective under the cap: by `equal-shares`, by pctodl, and by any of the
 * known plans for this factor at the highest clock under the cap (`best`; it includes the two others). Each factor is
 * within 5 %, that of `best` within 10 %. A cell takes about 30 s of processor time.
 *
 *   pnpm --filter @pctodl/bench-runner highest-load [--seed 1] [--cells 4]
 */
import { parseArgs } from 'node:util'
import { SeededRandom, shuffled } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import {
  createServerPolicy,
  equalShares,
  fixedClockPolicy,
  limitOptions,
  plannedShares,
  type SharePlan,
} from '@pctodl/run/policy'
import { type PowerCapPolicy, planWithModel } from '@pctodl/scheduler'
import { highestRate } from '@pctodl/traffic'
import { runServerLoad, serverTasksOf } from '../src/server.js'

/** Tasks whose rates or caps change at given times. Others run for a minute. */
const timed = [508, 509, 510, 513, 514, 515, 516, 521, 523]

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, cells: { type: 'string', default: '4' } },
})
const seed = Number(values.seed)
const random = new SeededRandom(seed)
const cells = ['3080Ti', 'A100'].flatMap((board) =>
  serverTasksOf(board).map(({ id }) => [`${board}~v${1 + random.integer(8)}`, id] as const),
)
/** Plans for the highest load of Poisson arrivals, and of bursts. */
const maxLoadShares = [1, 8].map(
  (burstiness): SharePlan =>
    (model, load) =>
      planWithModel(model, { burstiness })(load, 'max-load') ?? equalShares(model, load),
)

async function highestLoads(boardName: string, id: number) {
  const task = serverTasksOf(boardName.split('~')[0]!, [id])[0]!
  const model = loadPerfModel(task.board)
  const durationS = timed.includes(id) ? task.durationS : 60
  const keeps = async (loadFactor: number, policy: PowerCapPolicy) => {
    const { services, capHolds } = await runServerLoad({ ...task, durationS, boardName, seed, loadFactor }, policy)
    return capHolds && services.every(({ attainment }) => (attainment ?? 1) >= 0.99)
  }
  const named = (name: 'pctodl' | 'equal-shares' | 'plan-limit-step') => (loadFactor: number) =>
    keeps(loadFactor, createServerPolicy(name, task, { model, loadFactor }))
  const highest = async (fromPerS: number, holds: (loadFactor: number) => Promise<boolean>) =>
    (await highestRate(holds, { fromPerS, precision: 0.05, maxTrials: 9 })).ratePerS ?? 0
  const anyPlanKeeps = async (loadFactor: number) => {
    if (await named('plan-limit-step')(loadFactor)) return true
    for (const plan of [...maxLoadShares, plannedShares, equalShares]) {
      const options = limitOptions('plan', task, plan, { model, loadFactor })
      for (const memClockMhz of model.memClocksMhz) {
        const smClockMhz = smClocksAt(model.spec, memClockMhz)!.at(-1)!
        if (await keeps(loadFactor, fixedClockPolicy(options, { memClockMhz, smClockMhz }))) return true
      }
    }
    return false
  }
  const equal = await highest(2, named('equal-shares'))
  let pctodl = await highest(Math.max(0.5, 1.3 * equal), named('pctodl'))
  let best = Math.max(pctodl, equal)
  for (let factor = best / 0.95; await anyPlanKeeps(factor); factor *= 1.1) best = factor
  // A policy that saves energy stays near 99 %, so it may miss a factor and keep a higher one.
  for (let factor = best; factor > 1.04 * pctodl; factor /= 1.05) if (await named('pctodl')(factor)) pctodl = factor
  return { equal, pctodl, best }
}

const overEqual: number[] = []
const ofBest: number[] = []
for (const [boardName, id] of shuffled(cells, random).slice(0, Number(values.cells))) {
  const { equal, pctodl, best } = await highestLoads(boardName, id)
  overEqual.push(pctodl / equal)
  ofBest.push(pctodl / best)
  const factors = [equal, pctodl, best].map((factor) => factor.toFixed(2)).join(', ')
  console.log(`${boardName} ${id}: equal-shares, pctodl, best ${factors}`)
}
const met = (ratios: readonly number[], least: number) =>
  `${ratios.filter((ratio) => ratio > least - 1e-6).length} of ${ratios.length}`
console.log(`>= 1.3 of equal-shares: ${met(overEqual, 1.3)}; >= .95 of the best: ${met(ofBest, 0.95)}`)
