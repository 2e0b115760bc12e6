/** Runs cases for `control-scenarios.ts`: a message in is a case, a message out are its results. */
import { runScenario, type ScenarioPolicy, type ScenarioResult } from './run-scenario.js'
import type { Scenario } from './scenarios.js'

export interface ScenarioOrder {
  readonly scenario: Scenario
  readonly policies: readonly ScenarioPolicy[]
  readonly limitFactor: number | null
  readonly oracle: boolean
}

process.on('message', (order: ScenarioOrder) => {
  void run(order).then((results) => process.send!(results))
})

async function run({ scenario, policies, ...options }: ScenarioOrder): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = []
  for (const policy of policies) results.push(await runScenario(scenario, policy, options))
  return results
}
