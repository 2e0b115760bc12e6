import { expect, it } from 'vitest'
import { runScenario } from '../scripts/control-scenarios/run-scenario.js'
import { drawScenario } from '../scripts/control-scenarios/scenarios.js'

it('the clock does not stay at the minimum under a wide cap after narrow ones', async () => {
  const scenario = drawScenario('steps every 20 s', 5, 40002, 16)
  const pctodl = await runScenario(scenario, 'pctodl')
  const directcap = await runScenario(scenario, 'directcap')
  expect(pctodl.throughput).toBeGreaterThan(0.9 * directcap.throughput)
  expect(pctodl.avoidablePercent).toBeLessThanOrEqual(1)
})
