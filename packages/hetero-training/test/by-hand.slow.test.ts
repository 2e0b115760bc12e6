import { expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { findPlan } from '../src/index.js'
import type { TrainingGpu } from '../src/training-job.js'

it('finds within watts what one limit for all gives, and proves it, also where micro-batches make curves of many pieces', () => {
  const gpus = Array.from({ length: 6 }, (_, i): TrainingGpu => {
    const rows = Array.from({ length: 13 }, (_, l) => 100 + 20 * l).flatMap((powerLimitW) =>
      [1, 2, 4, 8].map((batchSize) => {
        const timeS = 0.005 + (batchSize / (200 + 40 * i)) * Math.sqrt(340 / powerLimitW)
        return { batchSize, powerLimitW, timeS, energyJ: 0.95 * powerLimitW * timeS }
      }),
    )
    return { maxMicroBatch: 1, profile: { name: `gpu${i}`, unit: 'step', idlePowerW: 20, rows } }
  })
  const { cost, lowerBound, powerLimitW } = findPlan({ gpus, globalBatch: 4096 }, { powerW: 1100 })
  expect(powerLimitW).toBeLessThanOrEqual(1100)
  expect(lowerBound).toBeGreaterThanOrEqual(cost * (1 - 1e-9))
  for (const watts of someOf([100, 120, 140, 160, 180], 120, 160)) {
    const byHand = findPlan({ gpus: gpus.map((gpu) => ({ ...gpu, powerLimitsW: [watts] })), globalBatch: 4096 })
    expect(cost, `${watts} W for each`).toBeLessThanOrEqual(byHand.cost * (1 + 1e-9))
  }
})
