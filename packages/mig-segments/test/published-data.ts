import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { golden, goldenJson, referenceFolder } from '@pctodl/reference-data'
import type { ServiceObjective, ServiceProfile } from '../src/index.js'
import { loadObjectives, loadProfiles } from '../src/input/load-inputs.js'

/** `head`: the fork's data, one process. `sc24`: the paper's. */
export const dataSets = ['head', 'sc24'] as const
export type DataSet = (typeof dataSets)[number]

export interface PublishedData {
  readonly profiles: readonly ServiceProfile[]
  readonly scenarios: readonly (readonly ServiceObjective[])[]
}

export function publishedData(set: DataSet, maxProcesses = 3): PublishedData {
  const folder = referenceFolder('parvagpu')
  const base = set === 'head' ? folder : path.join(folder, 'sc24')
  const profiles = loadProfiles(path.join(base, 'prof_data'), { maxProcesses })
  const models = profiles.map(({ model }) => model)
  return { profiles, scenarios: loadObjectives(path.join(base, 'SLO'), models) }
}

export const goldenFile = (name: string): string => golden(`parvagpu/golden/${name}`)

export function outcomes(set: DataSet) {
  return goldenJson('parvagpu/golden/outcomes.json')[set] as Record<
    string,
    { infeasible: string[]; optimum: { gpus: number; min_gpcs_at_that_count: number } }
  >
}

/**
 * Scenarios that nobody made up: of the largest published row each model with a chance of 85 %, its rate times two
 * log-uniform factors (one of the row, 0.5 to 10 or 20; one of the model, e^-1.5 to e^1.5), its latency that of a random
 * published row times e^-0.36 to e^0.84. They need 1 to about 150 GPUs.
 */
export function randomScenarios(
  { profiles, scenarios }: PublishedData,
  count: number,
  seed: number,
): ServiceObjective[][] {
  const random = new SeededRandom(seed)
  const largest = scenarios.at(-1)!
  const most = profiles.some(({ model }) => model === 'whisper') ? 20 : 10
  return Array.from({ length: count }, () => {
    const row = scenarios[random.integer(scenarios.length)]!
    const scale = 0.5 * (most / 0.5) ** random.uniform()
    return largest.flatMap((objective) => {
      const latencyMs = (row.find(({ model }) => model === objective.model) ?? objective).latencyMs
      const drawn = {
        ...objective,
        ratePerS: objective.ratePerS * scale * Math.exp(3 * (random.uniform() - 0.5)),
        latencyMs: latencyMs * Math.exp(1.2 * (random.uniform() - 0.3)),
      }
      return random.uniform() < 0.85 ? drawn : []
    })
  })
}
