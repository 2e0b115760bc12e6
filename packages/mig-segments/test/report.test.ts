import { findMigBoard } from '@pctodl/mig-deploy'
import { describe, expect, it } from 'vitest'
import { planTables } from '../src/cli/plan-report.js'
import type { BoundedPlan, PlannedGpu } from '../src/index.js'
import { lintProfile } from '../src/input/lint-profile.js'

const board = findMigBoard('A100-80GB')
const terminal = {
  stdout: { write: () => {} },
  stderr: { write: () => {} },
  signal: new AbortController().signal,
  env: {},
}

const segment = (start: number): PlannedGpu['segments'][number] => ({
  model: `net${start}`,
  sizeGpcs: 1,
  profile: '1g.5gb',
  start,
  batchSize: 4,
  processes: 2,
  throughput: 10,
  ratePerS: 10,
  latencyMs: 5,
})

function planOn(gpus: readonly PlannedGpu[]): Pick<BoundedPlan, 'gpus' | 'served'> {
  const served = [
    { model: 'a', ratePerS: 1234.4, latencyMs: 12.345, segments: 3, gpcs: 4, capacity: 100 },
    { model: 'b', ratePerS: 99.96, latencyMs: 250.6, segments: 1, gpcs: 1, capacity: 0.5 },
  ]
  return { gpus, served }
}

/** Cells of the rows that hold any, by the borders between them. */
function cellsOf(table: string): string[][] {
  return table
    .split('\n')
    .filter((line) => line.startsWith('│'))
    .map((line) =>
      line
        .split('│')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

describe('the tables of a plan', () => {
  it('show whole numbers from a hundred on, and three digits below', () => {
    const [, a, b] = cellsOf(planTables(planOn([]), board, 8, terminal))
    expect(a).toEqual(['a', '1234', '12.3', '3', '4', '100'])
    expect(b).toEqual(['b', '100', '251', '1', '1', '0.5'])
  })

  it('count GPUs within their nodes, with two instances to a line', () => {
    const gpus = [
      { index: 7, segments: [segment(6), segment(5), segment(4)] },
      { index: 17, segments: [segment(0)] },
    ]
    const rows = cellsOf(planTables(planOn(gpus), board, 8, terminal)).slice(4)
    expect(rows).toEqual([
      ['0', '7', '1g.10gb@6 net6 4x2, 1g.10gb@5 net5 4x2,'],
      ['', '', '1g.10gb@4 net4 4x2'],
      ['2', '1', '1g.10gb@0 net0 4x2'],
    ])
  })

  it('list forty GPUs, and count the others', () => {
    const gpus = (count: number) => Array.from({ length: count }, (_, index) => ({ index, segments: [segment(0)] }))
    expect(planTables(planOn(gpus(40)), board, 8, terminal)).not.toContain('more')
    const many = planTables(planOn(gpus(42)), board, 8, terminal)
    expect(many).toMatch(/\nand 2 GPUs more$/)
    expect(many.match(/net0/g)).toHaveLength(40)
  })
})

describe('a profile that is looked over', () => {
  const point = (sizeGpcs: 1 | 2 | 3 | 4 | 7, processThroughput: number, latencyMs: number) => ({
    sizeGpcs,
    batchSize: 1,
    processes: 1,
    processThroughput,
    latencyMs,
  })
  const lint = (...points: ReturnType<typeof point>[]) => lintProfile({ model: 'net', points })

  it('has run however slowly it did', () => {
    expect(lint(point(1, 0.5, 2000))).toEqual([])
    expect(lint(point(1, 0, 0))).toEqual(['net: nothing ran; every row has throughput 0'])
  })

  it('is told of where latency is twice what throughput says, or half of it, in most rows', () => {
    expect(lint(point(1, 10, 200), point(2, 10, 50))).toEqual([])
    for (const latencyMs of [50, 200]) expect(lint(point(1, 10, latencyMs), point(2, 10, latencyMs))).toEqual([])
    expect(lint(point(1, 10, 201), point(2, 10, 100))).toEqual([])
    expect(lint(point(1, 10, 201), point(2, 10, 49)).join()).toMatch(/far from batch . throughput in 2 of 2 rows/)
  })

  it('is told of latency that rises in most of three pairs of sizes or more, beyond a tenth', () => {
    expect(lint(point(1, 10, 100), point(2, 9, 112), point(3, 8, 126))).toEqual([])
    expect(lint(point(1, 10, 100), point(2, 9, 112), point(3, 8, 126), point(4, 8, 127)).join()).toMatch(
      /rises with the instance's size in 2 of 3/,
    )
    expect(lint(point(1, 10, 100), point(2, 9, 109), point(3, 8, 119), point(4, 8, 130))).toEqual([])
  })
})
