import { SeededRandom } from '@pctodl/numerics'
import { findMigGeometry } from '@pctodl/platform'
import {
  exampleFolder,
  fleetOf,
  loadObjectives,
  loadProfiles,
  planDay,
  type ServiceObjective,
  simulateFleet,
} from '../src/index.js'
import { idlePowerW } from './simulated-fleet.js'

// Prints what a day takes with a schedule, with one plan for its highest rates, and with each hour planned and packed anew: rates that fall
// to 30 or 5 % of the peak at night, each service at its own hour, with noise. `parked`: watts of a board without instances, of those of a
// waiting one; `may be late`: share of the day's requests. What requests take whatever the map is beyond all schedules: `waiting` is what boards of the
// static plan draw besides. Then
// requests come to the maps of all hours, from one queue for each service. Last, what the same days take on H100 boards that run all day at one of
// the clocks of `H100-clocks`.
const HOURS = 24

function day(
  objectives: readonly ServiceObjective[],
  factor: number,
  night: number,
  seed: number,
): ServiceObjective[][] {
  const random = new SeededRandom(seed)
  const phases = objectives.map(() => 4 * (random.uniform() - 0.5))
  return Array.from({ length: HOURS }, (_, hour) =>
    objectives.map((objective, m) => {
      const height = (1 - Math.cos((2 * Math.PI * (hour - 3 - phases[m]!)) / HOURS)) / 2
      const wave = night + (1 - night) * (night < 0.2 ? height ** 1.5 : height)
      return { ...objective, ratePerS: factor * objective.ratePerS * wave * (1 + 0.1 * (random.uniform() - 0.5)) }
    }),
  )
}

const kWh = (joules: number) => Number((joules / 3.6e6).toFixed(1))
const percent = (share: number) => Number((100 * share).toFixed(2))
const table = []
for (const board of ['A100-80GB', 'H100']) {
  const profiles = loadProfiles(exampleFolder(board))
  const models = profiles.map(({ model }) => model)
  const [, objectives] = loadObjectives(exampleFolder('example-objectives'), models)
  const idleW = await idlePowerW(board)
  for (const night of [0.3, 0.05]) {
    for (const [gate, parked, maxLate] of [
      ['latency', 0, 0],
      ['latency', 0, 0.005],
      ['latency', 0.5, 0.005],
      ['tail', 0, 0.005],
    ] as const) {
      const startMs = performance.now()
      const periods = day(objectives!, 6, night, 2)
      const fleet = fleetOf(board, profiles, { idleW })
      const plan = await planDay(fleet, periods, {
        ...{ periodS: 3600, migrationS: 60, parkedW: parked * idleW, maxLate, maxIterations: 5000, gate },
      })
      const waiting = plan.periods.flatMap(({ boards }, h) => {
        return simulateFleet({ boards, served: periods[h]! }, fleet, { requests: 50_000, seed: h + 1 })
      })
      table.push({
        ...{ board, gate, 'idle W': Math.round(idleW), night, parked, 'may be late': maxLate },
        GPUs: `${plan.maxBoards} (${Math.min(...plan.periods.map(({ boards }) => boards.length))})`,
        static: kWh(plan.staticPlan.energyJ),
        waiting: kWh(HOURS * 3600 * plan.staticPlan.maxBoards * (1 - parked) * idleW),
        schedule: kWh(plan.energyJ),
        'saved %': percent(1 - plan.energyJ / plan.staticPlan.energyJ),
        'saved at most %': percent(1 - plan.lowerBoundJ / plan.staticPlan.energyJ),
        created: plan.created,
        'late %': percent(plan.lateRequests / plan.requests),
        'service and hour with most late %': percent(Math.max(...waiting.map(({ late, requests }) => late / requests))),
        'services and hours > 1 % late': `${waiting.filter(({ late, requests }) => late > 0.01 * requests).length} of ${waiting.length}`,
        s: Number(((performance.now() - startMs) / 1000).toFixed(0)),
      })
    }
  }
}
console.table(table)

const clocked = loadProfiles(exampleFolder('H100-clocks'), { geometry: findMigGeometry('H100') })
const [, peaks] = loadObjectives(
  exampleFolder('example-objectives'),
  clocked.map(({ model }) => model),
)
const byClock = []
for (const clock of new Set(clocked.flatMap(({ points }) => points.map(({ smClockMhz }) => smClockMhz!)))) {
  const profiles = clocked.map(({ model, points }) => ({
    model,
    points: points.filter(({ smClockMhz }) => smClockMhz === clock),
  }))
  const idleW = await idlePowerW('H100', clock)
  for (const night of [0.3, 0.05]) {
    const costs = { periodS: 3600, migrationS: 60, parkedW: 0, maxLate: 0.005, maxIterations: 5000 }
    const fleet = { groups: [{ gpu: 'H100', profiles, idleW }] }
    const plan = await planDay(fleet, day(peaks!, 6, night, 2), { ...costs, gate: 'tail' })
    byClock.push({
      ...{ MHz: clock, 'idle W': Math.round(idleW), night, static: kWh(plan.staticPlan.energyJ) },
      ...{ schedule: kWh(plan.energyJ), least: kWh(plan.lowerBoundJ), GPUs: plan.maxBoards },
    })
  }
}
console.table(byClock)
