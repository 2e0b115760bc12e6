import { existsSync, readFileSync } from 'node:fs'
import { findGpuSpec } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { findMigProfile, migBoard, simulateSteadyState } from '../src/index.js'

const folder = new URL('../../../../shared/data/parvagpu/prof_data/', import.meta.url)
const spec = findGpuSpec('A100-80GB')
const profiles: Readonly<Record<string, string>> = {
  1: '1g.10gb',
  2: '2g.20gb',
  3: '3g.40gb',
  4: '4g.40gb',
  7: '7g.80gb',
}

interface Row {
  readonly slices: string
  readonly batchSize: number
  readonly measured: number
  readonly simulated: number
}

/** Measured throughput of one process on MIG instances of an A100 80GB, and what the simulator says of the same. */
function rows(model: string): Row[] {
  const [, ...lines] = readFileSync(new URL(`${model}.csv`, folder), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => {
    const [slices, batch, , throughput] = line.trim().split(',')
    const board = migBoard(spec, findMigProfile(spec, profiles[slices!]!))
    const batchSize = Number(batch)
    const simulate = simulateSteadyState(board, { precision: 'fp32' })
    const { throughput: simulated } = simulate({
      tenants: [{ model, mpsPercent: 100, batchSize }],
      smClockMhz: 1410,
      memClockMhz: 1593,
    })
    return { slices: slices!, batchSize, measured: Number(throughput), simulated }
  })
}

function rankCorrelation(a: readonly number[], b: readonly number[]): number {
  const ranks = (values: readonly number[]) => values.map((value) => values.filter((other) => other < value).length)
  const [x, y] = [ranks(a), ranks(b)]
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [mx, my] = [mean(x), mean(y)]
  const dot = (u: number[], v: number[], mu: number, mv: number) =>
    u.reduce((sum, value, i) => sum + (value - mu) * (v[i]! - mv), 0)
  return dot(x, y, mx, my) / Math.sqrt(dot(x, x, mx, mx) * dot(y, y, my, my))
}

/** First batch size of which the double brings less than 15 % more. */
function saturation(points: readonly { readonly batchSize: number; readonly throughput: number }[]): number {
  const sorted = [...points].sort((a, b) => a.batchSize - b.batchSize)
  const enough = sorted.find((point, i) => {
    const next = sorted[i + 1]
    return !next || next.throughput < 1.15 * point.throughput
  })
  return enough!.batchSize
}

const present = existsSync(folder)
if (!present) console.warn('measured-shapes: ../shared/data/parvagpu is not there, so its comparisons are skipped')

describe.skipIf(!present).each(['resnet50', 'vgg19'])('%s on MIG instances of an A100 80GB', (model) => {
  it('ranks instances and batch sizes as measured', () => {
    const all = rows(model)
    const simulated = all.map((row) => row.simulated)
    const measured = all.map((row) => row.measured)
    expect(rankCorrelation(simulated, measured)).toBeGreaterThan(0.9)
  })

  it('is within 30 % of the measured throughput at the median, though nothing was fitted to it', () => {
    const errors = rows(model).map(({ simulated, measured }) => Math.abs(simulated / measured - 1))
    errors.sort((a, b) => a - b)
    expect(errors[Math.floor(errors.length / 2)]).toBeLessThan(0.3)
  })

  it('stops gaining from larger batches where the measured one does, to two doublings', () => {
    const all = rows(model)
    for (const slices of new Set(all.map((row) => row.slices))) {
      const own = all.filter((row) => row.slices === slices)
      const at = (value: (row: Row) => number) =>
        saturation(own.map((row) => ({ batchSize: row.batchSize, throughput: value(row) })))
      const measured = at((row) => row.measured)
      const simulated = at((row) => row.simulated)
      expect(Math.abs(Math.log2(simulated / measured))).toBeLessThanOrEqual(2)
    }
  })
})
