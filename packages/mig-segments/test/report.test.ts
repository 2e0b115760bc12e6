import { describe, expect, it } from 'vitest'
import { boardTable, serviceTable } from '../src/cli/plan-report.js'
import type { FleetBoard } from '../src/fleet/place-fleet.js'
import { lintProfile } from '../src/input/lint-profile.js'

const terminal = {
  stdout: { write: () => {} },
  stderr: { write: () => {} },
  signal: new AbortController().signal,
  env: {},
}

const board = (node: number, index: number, ...starts: number[]): FleetBoard => ({
  ...{ group: 0, gpu: 'A100-80GB', node, index, powerW: Number.NaN },
  segments: starts.map((start, i) => ({
    ...{ profile: '1g.10gb', start, model: `net${i}`, batchSize: 4, processes: 2 },
    ...{ throughput: 10, ratePerS: 10, latencyMs: 5 },
  })),
})

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
    const served = [
      { model: 'a', ratePerS: 1234.4, latencyMs: 12.345, segments: 3, gpcs: 4, capacity: 1300 },
      { model: 'b', ratePerS: 99.96, latencyMs: 250.6, segments: 1, gpcs: 1, capacity: 110.5 },
    ]
    const a = ['a', '1234', '12.3', '3', '4', '1300']
    const b = ['b', '100', '251', '1', '1', '111']
    expect(cellsOf(serviceTable(served, null, terminal)).slice(1)).toEqual([a, b])
    const limits = [
      { model: 'a', utilisation: 0.949, p99Ms: 11.01, latencyMs: 12.345, breaksAtPerS: 1280.2 },
      { model: 'b', utilisation: 0.904, p99Ms: 263.4, latencyMs: 250.6, breaksAtPerS: 0 },
    ]
    const simulated = serviceTable(served, limits, terminal)
    expect(cellsOf(simulated).slice(1)).toEqual([
      [...a, '95 %', '11', '1280'],
      [...b, '90 %', '263', 'is late'],
    ])
    expect(simulated).toMatch(/\nBy simulated requests, b breaks first, at its rate\.$/)
    expect(serviceTable(served.slice(0, 1), limits, terminal)).toMatch(/a breaks first, at 4 % more than its rate\.$/)
  })

  it('list the instances of a board two to a line, with all models of one', () => {
    const shared = { ...board(2, 1, 0, 0), smClockMhz: 1410, powerW: 99.6 }
    expect(cellsOf(boardTable([board(0, 7, 4, 5, 6), board(2, 1, 0)], terminal)).slice(1)).toEqual([
      ['A100-80GB', '0', '7', '1g.10gb@4 net0 4x2, 1g.10gb@5 net1 4x2,'],
      ['', '', '', '1g.10gb@6 net2 4x2'],
      ['A100-80GB', '2', '1', '1g.10gb@0 net0 4x2'],
    ])
    expect(cellsOf(boardTable([shared], terminal))[1]).toEqual([
      ...['A100-80GB', '2', '1', '1410', '100', '1g.10gb@0 net0 4x2 + net1 4x2'],
    ])
  })

  it('list forty boards, and count the others', () => {
    const boards = (count: number) => Array.from({ length: count }, (_, index) => board(0, index, 0))
    expect(boardTable(boards(40), terminal)).not.toContain('more')
    const many = boardTable(boards(42), terminal)
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
