import { algorithmNames, runTask, tasksOf } from '@pctodl/bench-runner'
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { loadPerfModel } from '@pctodl/perf-model'
import { networkName, smClocksAt } from '@pctodl/platform'
import { summarizeRun } from '@pctodl/report'
import { planPartition } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { someOf } from './long-tests.js'

/** Predictor, search, controller and board together: nothing here knows more than a user of real hardware would. */
describe('pctodl, closed loop on the simulated boards', () => {
  it.each([
    ['3080Ti', 6],
    ['3080Ti', 7],
    ['3080Ti', 9],
    ['A100', 15],
    ['A100', 20],
    ['A100', 25],
  ])('holds its cap on %s task %i, whatever the sensor of the board gets wrong', async (board, id) => {
    const [task] = tasksOf(board, [id])
    // Each task meets another one, all of them all in the long tests.
    for (const seed of someOf([1, 2, 3], 1 + (id % 3))) {
      const summary = summarizeRun(await runTask(task!, 'pctodl', { iterations: 12, seed }))
      expect(summary.powerSource).toBe('true')
      expect(summary.verdict, `seed ${seed}: ${summary.verdict.reason}`).toMatchObject({ status: 'holds' })
      expect(summary.steadyThroughput).toBeGreaterThan(0)
    }
  })

  it.each(someOf([29, 30], 29))('follows the caps of task %i down and up', async (id) => {
    for (const board of ['3080Ti', 'A100']) {
      const [task] = tasksOf(board, [id])
      const record = await runTask(task!, 'pctodl', { iterations: 1, seed: 1 })
      const summary = summarizeRun(record)
      expect(summary.verdict, summary.verdict.reason).toMatchObject({ status: 'holds' })
      expect(record.windows).toHaveLength(150)
      expect(record.windows.map((window) => window.powerCapW)).toEqual(
        task!.schedule!.capsW.flatMap((capW) => Array(50).fill(capW)),
      )
    }
  })

  it('uses the watts it is given: above 94 % of a cap that binds', async () => {
    const [task] = tasksOf('3080Ti', [6])
    const record = await runTask(task!, 'pctodl', { iterations: 24, seed: 1 })
    const settled = record.power.trueW!.slice(300)
    const meanW = settled.reduce((sum, watts) => sum + watts, 0) / settled.length
    expect(meanW).toBeGreaterThan(0.94 * 130)
  })

  it.each(['3080Ti', 'A100'])('predicts what its plans on %s then do, knowing only traces of the board', (board) => {
    const predictor = loadPerfModel(board)
    const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
    const errors = { throughput: [] as number[], powerW: [] as number[] }
    for (const task of tasksOf(board).filter((candidate) => candidate.powerCapW !== null)) {
      const plan = planPartition(predictor, { model: networkName(task.model), powerCapW: task.powerCapW! })
      expect(smClocksAt(predictor.spec, plan.memClockMhz)).toContain(plan.smClockMhz)
      const truth = simulate(plan)
      const predicted = predictor.predict(plan)
      errors.throughput.push(Math.abs(predicted.throughput / truth.throughput - 1))
      errors.powerW.push(Math.abs(predicted.powerW / truth.powerW - 1))
    }
    const sorted = (values: number[]) => values.sort((a, b) => a - b)
    // A search ends where the predictor promises most, so its plans are wrong by more than a random configuration is.
    expect(sorted(errors.throughput)[7]).toBeLessThan(0.08)
    expect(errors.throughput.at(-1)).toBeLessThan(0.2)
    expect(sorted(errors.powerW)[7]).toBeLessThan(0.03)
    expect(errors.powerW.at(-1)).toBeLessThan(0.08)
  })
})

describe('all algorithms', () => {
  it('leave a mark where they exceed the cap by more than a few percent of the time', async () => {
    const [task] = tasksOf('3080Ti', [6])
    for (const name of algorithmNames) {
      const summary = summarizeRun(await runTask(task!, name, { iterations: 12, seed: 1 }))
      const above = summary.timeAboveCapPercent!
      expect(summary.verdict.status, `${name}: ${above} %`).toBe(above > 2 ? 'violates' : 'holds')
    }
  })
})
