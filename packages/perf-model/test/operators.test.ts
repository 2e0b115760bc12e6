import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { median, quantile } from '@pctodl/numerics'
import { addGpuSpec, gpuSpecs } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { costOperator, findOperatorBoard } from '../src/llm.js'
import { type Operator, operatorWork } from '../src/operators/operator-work.js'

interface Unseen {
  readonly board: string
  readonly backend: string
  readonly operator: Operator
  readonly seconds: number
  readonly watts: number | null
}

// Shapes that the fit has not seen, a few of each board, software and format: written by scripts/fit-operators.ts.
const unseen = readFileSync(join(import.meta.dirname, 'operators-unseen.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Unseen => JSON.parse(line))
const costs = unseen.map((row) => ({
  row,
  cost: costOperator(row.operator, findOperatorBoard(row.board), row.backend).atDefault,
}))

describe('operators of shapes that the fit has not seen', () => {
  it.each([
    ['gemm', 0.1, 0.25],
    ['prefill', 0.1, 0.25],
    ['decode', 0.1, 0.3],
    // Most of it FP4 on GB200, whose times follow no smooth law.
    ['moe', 0.2, 1.2],
  ])('%s takes the time that was measured: median error %d, nine of ten %d', (kind, half, mostly) => {
    const errors = costs
      .filter(({ row }) => row.operator.kind === kind)
      .map(({ row, cost }) => Math.abs(cost.seconds / row.seconds - 1))
    expect(errors.length).toBeGreaterThan(60)
    expect(median(errors)).toBeLessThan(half)
    expect(quantile(errors, 0.9)).toBeLessThan(mostly)
  })

  it.each(['H200', 'GB200'])('watts of %s below the limit are those that were measured', (board) => {
    const limit = 0.9 * findOperatorBoard(board).powerLimitW
    const rows = costs.filter(
      ({ row }) => row.board === board && row.operator.kind !== 'moe' && row.watts !== null && row.watts < limit,
    )
    const errors = rows.map(({ row, cost }) => Math.abs(cost.watts / row.watts! - 1))
    expect(errors.length).toBeGreaterThan(30)
    expect(median(errors)).toBeLessThan(0.1)
    // In one of ten pairs on GB200, two products that differ by one row differ by as much.
    expect(quantile(errors, 0.9)).toBeLessThan(0.45)
  })
})

describe('costOperator', () => {
  const h200 = findOperatorBoard('h200')
  const wide: Operator = { kind: 'gemm', dtype: 'bfloat16', m: 8192, n: 8192, k: 8192 }
  const tall: Operator = { ...wide, m: 8 }

  it('slows a product of many rows with the clock, and hardly one that streams its weights', () => {
    const slowdown = (operator: Operator) => {
      const cost = costOperator(operator, h200)
      return cost.at(0.5).seconds / cost.at(1).seconds
    }
    expect(slowdown(wide)).toBeGreaterThan(1.9)
    expect(slowdown(tall)).toBeLessThan(1.3)
  })

  it.each([wide, tall])('draws less at a lower clock, and what was fitted at the top: $m rows', (operator) => {
    const cost = costOperator(operator, h200)
    expect(cost.at(1).watts).toBeCloseTo(cost.atDefault.watts, 6)
    const watts = [0.3, 0.5, 0.7, 0.9, 1].map((clock) => cost.at(clock).watts)
    expect(watts).toEqual([...watts].sort((a, b) => a - b))
    expect(watts[0]).toBeGreaterThan(h200.idleW)
    expect(watts.at(-1)).toBeLessThanOrEqual(h200.powerLimitW)
  })

  it('reads the weights of fewer experts with skewed routing, at least those of one token', () => {
    const bytes = (tokens: number, skewed: boolean) =>
      operatorWork(
        { kind: 'moe', dtype: 'bfloat16', tokens, hidden: 5120, inter: 1024, topk: 1, experts: 128, skewed },
        h200,
      ).bytes
    expect(bytes(1, true)).toBeCloseTo(bytes(1, false))
    // Measured in 0.44 ms; the weights of all experts would take 0.84 ms.
    expect(bytes(128, true) / 4.8e12).toBeLessThan(4.4e-4)
    expect(bytes(128, true)).toBeLessThan(bytes(256, true))
    expect(bytes(4096, true)).toBeLessThan(bytes(4096, false))
  })

  it('says whose watts stand in for those of a board', () => {
    expect(costOperator(wide, h200).wattsFrom).toBeNull()
    expect(costOperator(wide, findOperatorBoard('RTX 5090')).wattsFrom).toBe('GB200')
  })

  const supported = Object.values(gpuSpecs).filter(({ computeCapability }) => Number(computeCapability) >= 8)

  it.each(supported)('has finite answers on $key', ({ key }) => {
    const board = findOperatorBoard(key)
    for (const m of [1, 100, 10_000]) {
      const { seconds, watts } = costOperator({ ...wide, m }, board).atDefault
      expect(seconds).toBeGreaterThan(1e-6)
      expect(watts).toBeGreaterThanOrEqual(board.idleW)
    }
  })

  it('knows what any specification says of a board, and refuses a generation of which nothing was measured', () => {
    const mine = { ...gpuSpecs['H200']!, key: 'MyBoard', name: 'Mine', aliases: [] }
    addGpuSpec(mine)
    const { peakTflops, measuredAs } = findOperatorBoard('MyBoard')
    expect([measuredAs, ...peakTflops.map(Math.round)]).toEqual(['H100', 1071, 2141, 2141, 0])
    expect(findOperatorBoard('RTX 5090').peakTflops.map(Math.round)).toEqual([209, 418, 836, 1671])
    const newer = { ...gpuSpecs['GB200']!, key: 'Newer', name: 'Newer', aliases: [], computeCapability: '10.3' }
    addGpuSpec(newer)
    expect(findOperatorBoard('Newer').measuredAs).toBe('GB200')
    expect(() => findOperatorBoard('V100')).toThrow(/GPU.*V100.*8\.0.*not 7\.0/)
    addGpuSpec({ ...mine, key: 'NoBoard', computeCapability: '3.7' })
    expect(() => findOperatorBoard('NoBoard')).toThrow(/not 3\.7/)
  })

  it('refuses a format that the board was not measured in, naming those it was', () => {
    expect(() => costOperator({ ...wide, dtype: 'fp8' }, findOperatorBoard('A100'))).toThrow(
      /dtype.*'fp8'.*bfloat16.*on A100/,
    )
    const unknownRates = {
      ...gpuSpecs['RTX4090']!,
      key: 'UnknownRates',
      name: 'UnknownRates',
      aliases: [],
      computeCapability: '9.9',
    }
    addGpuSpec(unknownRates)
    expect(() => costOperator({ ...wide, dtype: 'fp8' }, findOperatorBoard('UnknownRates'))).toThrow(
      /dtype: got 'fp8', expected bfloat16 for gemm/,
    )
    expect(() => findOperatorBoard('K80')).toThrow(/K80.*H200/)
  })
})
