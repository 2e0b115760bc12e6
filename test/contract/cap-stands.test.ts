import { loadPerfModel } from '@pctodl/perf-model'
import { describe, it } from 'vitest'
import { expectKept, type Row, storyOf } from './expect-kept.js'
import { fixed, misjudging, pctodl, pctodlWith, tell } from './harness.js'

const model = loadPerfModel('3080Ti')
const wrongBy = (factor: number) => pctodlWith({ predictor: misjudging(model, factor) })
const clockAlone = pctodlWith({ hardwareLimitPercent: null })

const still: readonly Row[] = [
  ['of a 3080 Ti', { caps: fixed(180) }, { used: [[10, 40, 0.98]], changes: [15, 12] }],
  ['of an A100', { board: 'A100' }, { used: [[10, 40, 0.98]], changes: [15, 12] }],
  ['low on an A100', { board: 'A100', model: 'mnasnet1_0', caps: fixed(120) }, { used: [[15, 40, 0.96]] }],
  ['for few large batches', { model: 'vgg19', caps: fixed(250) }, { used: [[10, 40, 0.98]], changes: [15, 12] }],
  ['with power overestimated by a third', {}, { used: [[20, 40, 0.97]], settled: [[5, 10]] }, wrongBy(1.33)],
  ['with power underestimated by a quarter', {}, { used: [[15, 40, 0.97]], settled: [[5, 5]] }, wrongBy(0.75)],
  ['by the clock alone', {}, { used: [[15, 40, 0.96]], changes: [20, 12] }, clockAlone],
  [
    'by the clock alone, power overestimated',
    {},
    { used: [[20, 40, 0.95]] },
    pctodlWith({ predictor: misjudging(model, 1.33), hardwareLimitPercent: null }),
  ],
  [
    'by the clock alone, power underestimated',
    {},
    { used: [[15, 40, 0.95]], above: 0.02 },
    pctodlWith({ predictor: misjudging(model, 0.75), hardwareLimitPercent: null }),
  ],
  ['of a board unlike the one that was profiled', { board: '3080Ti~v2' }, { used: [[15, 40, 0.96]] }],
  ['of another such board', { board: 'A100~v5', caps: fixed(170) }, { used: [[15, 40, 0.96]] }],
]

describe('a cap that stands is kept and used', () => {
  for (const [name, part, expected, policy = pctodl] of still) {
    it(name, async () => expectKept(await tell(storyOf(name, part), policy), expected))
  }
})
