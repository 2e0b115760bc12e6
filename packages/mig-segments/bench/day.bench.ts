import { SeededRandom } from '@pctodl/numerics'
import { exampleFolder, loadObjectives, loadProfiles, planDay, type ServiceObjective } from '../src/index.js'
import { idlePowerW } from './simulated-fleet.js'

// Prints what a day takes with a schedule, with one plan for its highest rates, and with each hour planned and packed anew: rates that fall
// to 30 % at night, each service at its own hour, with noise. `parked`: watts of a board without instances, of those of a waiting one.
const HOURS = 24

function day(objectives: readonly ServiceObjective[], factor: number, seed: number): ServiceObjective[][] {
  const random = new SeededRandom(seed)
  const phases = objectives.map(() => 4 * (random.uniform() - 0.5))
  return Array.from({ length: HOURS }, (_, hour) =>
    objectives.map((objective, m) => {
      const wave = 0.65 - 0.35 * Math.cos((2 * Math.PI * (hour - 3 - phases[m]!)) / HOURS)
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
  for (const [factor, seed] of [
    [2, 1],
    [6, 2],
    [6, 3],
  ] as const) {
    for (const parked of [0, 0.5, 1]) {
      const startMs = performance.now()
      const plan = await planDay(profiles, day(objectives!, factor, seed), {
        ...{ periodS: 3600, migrationS: 60, idleW, parkedW: parked * idleW, mostIterations: 20_000 },
      })
      table.push({
        board,
        'idle W': Math.round(idleW),
        parked,
        GPUs: `${plan.mostGpus} (${Math.min(...plan.periods.map(({ gpus }) => gpus.length))})`,
        static: kWh(plan.staticPlan.energyJ),
        anew: kWh(plan.redeployed.energyJ),
        schedule: kWh(plan.energyJ),
        'saved %': percent(1 - plan.energyJ / plan.staticPlan.energyJ),
        'gap %': percent(1 - plan.lowerBoundJ / plan.energyJ),
        created: `${plan.created}, anew ${plan.redeployed.created}`,
        'late %': `${percent(plan.lateRequests / plan.requests)}, anew ${percent(plan.redeployed.lateRequests / plan.requests)}`,
        s: Number(((performance.now() - startMs) / 1000).toFixed(0)),
      })
    }
  }
}
console.table(table)
