import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { capSchedule, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { PctodlPolicy, runPolicy } from '../src/index.js'

/** Mean of the readings over the cap, from 15 s after each step to the next, of a board with nothing wrong. */
async function capUsed(board: string, seed: number, capsW: readonly number[], secondsEach: number): Promise<number> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, seed })
  let used = 0
  let count = 0
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: new PctodlPolicy({ predictor: loadPerfModel(board), model: 'resnet50' }),
    caps: capSchedule(capsW.map((powerCapW, i) => ({ atMs: i * secondsEach * 1000, powerCapW }))),
    iterations: (capsW.length * secondsEach) / 5,
    onSample: (timeMs, { powerAverageW }, capW) => {
      if (powerAverageW === null || timeMs % (secondsEach * 1000) < 15_000) return
      used += powerAverageW / capW
      count++
    },
  })
  return used / count
}

// A prompt sensor once passed for a late one when the cap stepped up, and the clock stayed at a third of what the cap allows.
describe('a cap that steps on a board with nothing wrong', () => {
  it.each([
    { board: '3080Ti', capsW: [200, 150, 180], seed: 1 },
    { board: '3080Ti', capsW: [200, 150, 180], seed: 2 },
    { board: '3080Ti', capsW: [250, 180, 300, 160], seed: 3 },
    { board: 'A100', capsW: [150, 220, 120, 180], seed: 1 },
  ])('is used: $board, seed $seed', async ({ board, capsW, seed }) => {
    expect(await capUsed(board, seed, capsW, 60)).toBeGreaterThan(0.97)
  })
})
