import { readFileSync } from 'node:fs'
import { gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { plan } from '../examples/plan.js'
import { SyntheticPredictor } from './synthetic-predictor.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('README', () => {
  it('shows the example as it stands in the file', () => {
    const blocks = [...read('../README.md').matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1])
    expect(blocks).toEqual([read('../examples/plan.ts')])
  })

  it('shows an example that works', () => {
    const predictor = new SyntheticPredictor(gpuSpecs['3080Ti']!)
    expect(plan(predictor, 'middle', 200)).toMatch(
      /^(\d+ % x \d+,? ?)+ at \d+\/(9501|5001) MHz: \d+ samples\/s, 19\d\.\d W$/,
    )
    expect(plan(predictor, 'middle', 40)).toMatch(/raise it to at least 6\d\.\d+ W \(with the margin of 2 W\)$/)
  })
})
