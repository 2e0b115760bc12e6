/** Worker process of `control-scenarios.ts`: each message is a case, and the answer is the case's results. */
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
