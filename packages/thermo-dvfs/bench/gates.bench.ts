/** What the README says under "What it achieves": many seeds of the toy board, worst figures; and stories of disturbances that overlap. */
import fc from 'fast-check'
import { ClockController } from '../src/index.js'
import { disturbedStories, liveDisturbed } from '../test/disturbed-board.js'
import { clocksMhz, measure, modelAt, run, ToyBoard } from '../test/toy-board.js'

const lowestW = modelAt(210)
const plants: readonly ((modelW: number) => number)[] = [
  (modelW) => modelW,
  (modelW) => 1.2 * modelW,
  (modelW) => 0.8 * modelW,
  (modelW) => lowestW + 0.5 * (modelW - lowestW),
  (modelW) => lowestW + 1.5 * (modelW - lowestW),
  (modelW) => 150 + 0.5 * (modelW - 150),
  (modelW) => Math.max(30, 150 + 1.5 * (modelW - 150)),
]
const SEEDS = 12

const table: Record<string, string | number>[] = []
for (const rippleW of [1, 3]) {
  for (const reading of ['both', 'one-second-average', 'part-time'] as const) {
    const steady = []
    const stepUpPeaks: number[] = []
    for (const truth of plants) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const board = new ToyBoard({ truth, dropped: 0.1, leakage: 0.05, rippleW, quantumW: 0.1, seed }, modelAt)
        const controller = new ClockController({
          smClocksMhz: clocksMhz,
          reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
        })
        controller.setPlant(clocksMhz.map(modelAt))
        const trace = run(controller, board, {
          durationMs: 250_000,
          reading,
          capAt: (timeMs) => (timeMs < 150_000 ? 140 : timeMs < 200_000 ? 110 : 130),
          loadingUntilMs: 5000,
        })
        steady.push(measure(trace, 25_000, 149_000))
        stepUpPeaks.push(measure(trace, 200_000, 215_000).peakPercent)
      }
    }
    const power = steady.map((metrics) => metrics.utilisationPercent)
    table.push({
      'ripple W': rippleW,
      reading,
      'violation %': Math.max(...steady.map((metrics) => metrics.violationPercent)).toFixed(2),
      'peak %': Math.max(...steady.map((metrics) => metrics.peakPercent)).toFixed(2),
      'power min %': Math.min(...power).toFixed(1),
      'power mean %': (power.reduce((sum, x) => sum + x) / power.length).toFixed(1),
      changes: Math.max(...steady.map((metrics) => metrics.changes)),
      'peak after step up %': Math.max(...stepUpPeaks).toFixed(2),
    })
  }
}
console.table(table)

const STORY_SEEDS = Array.from({ length: 10 }, (_, i) => 2001 + i)
const ends = STORY_SEEDS.flatMap((seed) => fc.sample(disturbedStories, { seed, numRuns: 300 }).map(liveDisturbed))
const count = (is: (end: (typeof ends)[number]) => boolean) => ends.filter(is).length
console.table({
  stories: ends.length,
  'back later than 10 s': count(({ backMs }) => backMs > 10_000),
  'back later than 5 s': count(({ backMs }) => backMs > 5000),
  'not back in 30 s': count(({ backMs }) => backMs >= 29_900),
  'above for more than 1 % of the calm': count(({ abovePercent }) => abovePercent > 1),
  'worst, %': Math.max(...ends.map(({ abovePercent }) => abovePercent)),
})
