import { SeededRandom } from '@pctodl/numerics'
import { expect, it } from 'vitest'
import { planCases } from '../packages/greedy-partition/test/service-cases.js'
import { type HeldPlan, holdPlans } from '../scripts/validate-service-plans.js'
import { someOf } from './long-tests.js'

/** Plans with the default margins, for what the arrivals are, on the simulated boards. */
async function held(burstiness: number): Promise<HeldPlan[]> {
  const plans: HeldPlan[] = []
  for (const each of planCases(4, new SeededRandom(2), { most: 3 })) {
    plans.push(...(await holdPlans(each, burstiness, burstiness, 5000)))
  }
  return plans
}

it.each(someOf([1, 4], 4))(
  'plans for services hold on boards that the planner does not know, arrivals of burstiness %d',
  async (burstiness) => {
    const plans = await held(burstiness)
    expect(plans.length).toBeGreaterThanOrEqual(10)
    // The README's table has the share of more and longer ones.
    const late = plans.filter(({ attainment }) => attainment < 0.98)
    expect(late.length).toBeLessThanOrEqual(1)
    for (const { powerError } of plans) expect(Math.abs(powerError)).toBeLessThan(0.15)
  },
)
