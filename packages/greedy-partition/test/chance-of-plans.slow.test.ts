import { gpuSpecs } from '@pctodl/platform'
import { expect, it } from 'vitest'
import { cases } from '../../../test/long-tests.js'
import { partition } from '../src/index.js'
import { MisledPredictor, Uncounted } from './misled-predictor.js'

it('the chance constraint holds of the plans, not only of configurations that nobody chose', () => {
  const RISK = 0.1
  const plans = cases(60, 24)
  const exceeded = (corrected: boolean) => {
    let count = 0
    for (let seed = 0; seed < plans; seed++) {
      const misled = new MisledPredictor(gpuSpecs['3080Ti']!, seed)
      const powerCapW = 130 + (seed % 12) * 12
      const wanted = {
        models: 'middle',
        powerCapW,
        sharePercentStep: 20,
        budgetEvaluations: 500,
        capExceedanceProbability: RISK,
      }
      // The risk of a configuration by itself, as it was asked for before choices were counted.
      const plan = corrected ? partition(misled, wanted) : partition(new Uncounted(misled), wanted)
      if (!plan.feasible) continue
      if (misled.truth(plan.configuration).powerW > powerCapW) count++
    }
    return count / plans
  }
  expect(exceeded(false)).toBeGreaterThan(RISK)
  expect(exceeded(true)).toBeLessThanOrEqual(RISK)
})
