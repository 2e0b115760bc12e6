import { mean } from '@pctodl/numerics'
import { expect, it } from 'vitest'
import { drawLlm, runLlm } from './virtual-llm.js'

it('the law holds a language model to its histogram, for less energy', async () => {
  const attainments: number[] = []
  for (const seed of [22, 23, 24]) {
    const trial = await drawLlm('steady', seed, 240)
    const alone = await runLlm(trial, null)
    const run = await runLlm(trial, 'law')
    attainments.push(run.attainment)
    expect(run.joules).toBeLessThan(0.9 * alone.joules)
    expect(Math.min(...run.clocksMhz.slice(-100))).toBeGreaterThan(0)
  }
  // One run has about a thousand requests, so its share of late ones is uncertain.
  expect(mean(attainments)).toBeGreaterThanOrEqual(0.99)
})
