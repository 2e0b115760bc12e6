import { findMigGeometry } from '@pctodl/platform'
import {
  exampleFolder,
  type Fleet,
  type FleetPlan,
  loadObjectives,
  loadProfiles,
  planFleet,
  simulateFleet,
} from '../src/index.js'
import { loadCoRunners } from '../src/input/load-fleet.js'
import { idlePowerW, runFleetBoard } from './simulated-fleet.js'

// Prints what models that share instances, and boards with clocks of their own, save on H100 boards with the example profiles, at the p99 of a
// queue for each instance; and what simulated boards make of these plans: late requests, the segment that delivers least of its plan, watts.
const geometry = findMigGeometry('H100')
const clocked = loadProfiles(exampleFolder('H100-clocks'), { geometry })
const clocks = [...new Set(clocked.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz!)))]
const highest = Math.max(...clocks)
const idleW: Record<string, number> = {}
for (const clock of clocks) idleW[clock] = Math.round(10 * (await idlePowerW('H100', clock))) / 10
const at = (clock: number) =>
  clocked.map(({ model, points }) => ({ model, points: points.filter(({ smClockMhz }) => smClockMhz === clock) }))
const coRunners = loadCoRunners(exampleFolder('H100-co-runners'), geometry, { idleW: idleW[highest]! })
const fleets: Record<string, Fleet> = {
  'one model, one clock': { groups: [{ gpu: 'H100', profiles: at(highest), idleW }] },
  shared: {
    groups: [
      {
        gpu: 'H100',
        profiles: at(highest),
        idleW,
        coRunners: coRunners.map((each) => ({ ...each, smClockMhz: highest })),
      },
    ],
  },
  clocks: { groups: [{ gpu: 'H100', profiles: clocked, idleW }] },
}
const models = clocked.map(({ model }) => model)
const rows = loadObjectives(exampleFolder('example-objectives'), models)
console.log('idle W by clock', idleW)
const table = []
for (const [k, row] of rows.entries()) {
  for (const factor of [1, 2]) {
    const objectives = row.map((objective) => ({ ...objective, ratePerS: factor * objective.ratePerS }))
    for (const [name, fleet] of Object.entries(fleets)) {
      const plan = await planFleet(fleet, objectives, { gate: 'tail', maxIterations: 10_000 })
      const late = simulateFleet(plan, fleet, { requests: 100_000, seed: 3 })
      table.push({
        ...{ row: k + 1, rates: factor, fleet: name, boards: plan.cost, bound: Number(plan.lowerBoundCost.toFixed(3)) },
        shared: sharedInstances(plan),
        MHz: [...new Set(plan.boards.map(({ smClockMhz }) => smClockMhz))].join(' '),
        ...{ W: Math.round(plan.powerW), 'least W': Math.round(plan.lowerBoundPowerW) },
        'W at the rates': Math.round(plan.meanPowerW),
        'late % at most': Number((100 * Math.max(...late.map((each) => each.late / each.requests))).toFixed(2)),
        ...(await onBoards(plan)),
      })
      console.log(JSON.stringify(table.at(-1)))
    }
  }
}
console.table(table)

function sharedInstances({ boards }: FleetPlan): number {
  return boards.reduce((sum, { segments }) => {
    const starts = segments.map(({ start }) => start)
    return sum + starts.filter((start, i) => starts.indexOf(start) === i && starts.lastIndexOf(start) !== i).length
  }, 0)
}

async function onBoards({ boards, powerW }: FleetPlan) {
  let delivered = 1
  let drawnW = 0
  let worst = 0
  for (const board of boards) {
    const run = await runFleetBoard(board)
    delivered = Math.min(delivered, run.delivered)
    drawnW += run.powerW
    worst = Math.max(worst, Math.abs(run.powerW / board.powerW - 1))
  }
  const percent = (share: number) => Number((100 * share).toFixed(1))
  return {
    'delivered %, worst': percent(delivered),
    'drawn % of W': percent(drawnW / powerW),
    'worst board off by %': percent(worst),
  }
}
