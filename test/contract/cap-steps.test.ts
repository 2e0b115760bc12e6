import { describe, it } from 'vitest'
import { expectKept, type Row, storyOf } from './expect-kept.js'
import { pctodl, pctodlWith, steps, tell } from './harness.js'

const tenants = [1, 2].map(() => ({ model: 'resnet50', mpsPercent: 50, batchSize: 32 }))
const keepTenants = pctodlWith({ fixed: { tenants, memClockMhz: 9501 } })
const clockAlone = pctodlWith({ hardwareLimitPercent: null })

const stepping: readonly Row[] = [
  [
    'down and up',
    { caps: steps(20, 250, 150, 280, 200), seconds: 80 },
    {
      used: [[10, 80, 0.97]],
      settled: [
        [20, 4],
        [40, 8],
        [60, 4],
      ],
    },
  ],
  [
    'down and up, by the clock alone',
    { caps: steps(20, 220, 160, 220), seconds: 60 },
    {
      used: [[10, 60, 0.95]],
      settled: [
        [20, 8],
        [40, 8],
      ],
    },
    clockAlone,
  ],
  [
    'each three seconds',
    { caps: steps(3, 250, 150, 300, 170, 220, 140, 260, 200, 180, 320, 130, 240), seconds: 36 },
    { used: [[5, 36, 0.92]] },
  ],
  [
    'with tenants that stay',
    { caps: steps(20, 240, 150, 240), seconds: 60 },
    {
      used: [[10, 60, 0.98]],
      settled: [
        [20, 4],
        [40, 4],
      ],
    },
    keepTenants,
  ],
  [
    'on a board unlike the profiled one',
    { board: '3080Ti~v3', caps: steps(15, 230, 160, 250), seconds: 45 },
    {
      used: [[10, 45, 0.94]],
      settled: [
        [15, 6],
        [30, 8],
      ],
    },
  ],
  [
    'on an A100',
    { board: 'A100', caps: steps(15, 220, 140, 200), seconds: 45 },
    {
      used: [[10, 45, 0.95]],
      settled: [
        [15, 8],
        [30, 8],
      ],
    },
  ],
  [
    'near the end of what the tenants can be made to draw',
    { caps: steps(20, 220, 105, 220), seconds: 60 },
    { used: [[10, 60, 0.95]], settled: [[40, 6]] },
  ],
  [
    'below what any tenants draw, and back',
    { caps: steps(20, 220, 60, 220), seconds: 60 },
    { above: 0.02, longestAboveMs: 2000, settled: [[40, 12]] },
  ],
]

describe('a cap that steps is kept and used', () => {
  for (const [name, part, expected, policy = pctodl] of stepping) {
    it(name, async () => expectKept(await tell(storyOf(name, part), policy), expected))
  }
})
