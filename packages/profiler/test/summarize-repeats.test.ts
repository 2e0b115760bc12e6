import { openSimulated } from '@pctodl/backend'
import { makePlan, type ProfileRow, runPlan } from '@pctodl/profiler'
import { beforeAll, describe, expect, it } from 'vitest'
import { summarizeRepeats } from '../src/trace/summarize-repeats.js'

describe('summarizeRepeats', () => {
  let rows: ProfileRow[]
  beforeAll(async () => {
    const board = openSimulated({ gpu: 'A100' })
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }]
    const single = { tenants, smClockMhz: 1005 }
    rows = []
    const plan = makePlan(board.gpu.spec, { models: [], memClocksMhz: [1215], single, repeats: 5, seed: 1 })
    await runPlan(board, plan, { onRow: (row) => rows.push(row) })
  })
  const changed = (change: Partial<ProfileRow>) => rows.map((row, i) => (i === 3 ? { ...row, ...change } : row))

  it('averages what agrees', () => {
    const [summary, ...others] = summarizeRepeats(rows)
    expect(others).toEqual([])
    expect(summary).toMatchObject({ repeats: 5, outlierRows: [] })
    expect(summary!.mean.powerAverageW).toBeCloseTo(rows.reduce((sum, row) => sum + row.powerAverageW, 0) / 5, 9)
    expect(summary!.powerSpreadPercent).toBeLessThan(2)
  })

  it.each([
    ['throughput', { throughput: 1 }],
    ['power', { powerAverageW: 400 }],
  ])('marks a row whose %s lies far from the others, and leaves it out', (_, change) => {
    const [summary] = summarizeRepeats(changed(change))
    expect(summary!.outlierRows).toEqual([3])
    expect(summary!.mean.throughput).toBeGreaterThan(100)
    expect(summary!.mean.powerAverageW).toBeLessThan(200)
  })

  it('leaves failed rows out, and fails where most did', () => {
    const [some] = summarizeRepeats(changed({ failed: true, throughput: Number.NaN }))
    expect(some!.mean).toMatchObject({ failed: false })
    expect(some!.mean.throughput).toBeGreaterThan(100)
    const [most] = summarizeRepeats(rows.map((row, i) => (i < 3 ? { ...row, failed: true } : row)))
    expect(most!.mean.failed).toBe(true)
  })
})
