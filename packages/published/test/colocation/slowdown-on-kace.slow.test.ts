import { evaluateMethod, slowdownMethod } from '@pctodl/colocation'
import { describe, expect, it } from 'vitest'
import { publishedMethod } from '../../src/colocation/index.js'
import { studySplits } from './kace-study.js'

describe('the published splits', () => {
  it('are predicted far better than by the published model', async () => {
    const splits = studySplits().get('3')!
    const ours = await evaluateMethod(slowdownMethod, splits)
    expect(ours.accuracy!.mse).toBeLessThan(0.045)
    expect(ours.accuracy!.mapePercent).toBeLessThan(11.3)
    expect(ours.gain).toBeGreaterThan(0.97)
    const published = await evaluateMethod(publishedMethod, splits)
    expect(published.accuracy!.mse).toBeCloseTo(0.144, 3)
    expect(published.gain).toBeCloseTo(0.906, 3)
  })
})
