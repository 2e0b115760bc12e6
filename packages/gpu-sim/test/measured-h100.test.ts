import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Comparison, errorOf, summarise } from '../scripts/validate/comparison.js'
import { proofComparisons } from '../scripts/validate/proof-comparisons.js'
import { physicsOfBoard } from '../src/index.js'

/** Rows of three real H100 (`evidence/H100`). No energy was fitted to their decode; `validate evidence/H100` prints all. */
const folder = path.resolve(import.meta.dirname, '../../../evidence/H100')
const comparisons = proofComparisons(folder)!
const of = (quantity: string) => comparisons.find((each) => each.quantity === quantity)!
const errorsOf = (comparison: Comparison, label: RegExp) =>
  comparison.points
    .filter((point) => label.test(point.label))
    .map((point) => errorOf(comparison, point.simulated, point))

it('rows that name no board are refused', () => {
  const empty = mkdtempSync(path.join(tmpdir(), 'proof-'))
  writeFileSync(path.join(empty, 'rows.csv'), 'p_list\n')
  expect(() => proofComparisons(empty)).toThrow(/folder: got .*device_list/)
  rmSync(empty, { recursive: true })
})

describe('the simulated H100 against real ones', () => {
  it('idles without a process at the measured power', () => {
    const [head, row] = readFileSync(path.join(folder, 'rows.static.csv'), 'utf8').split('\n')
    const measuredW = Number(row!.split(',')[head!.split(',').indexOf('power_avg')])
    expect(Math.abs(physicsOfBoard('H100').power.idleW / measuredW - 1)).toBeLessThan(0.02)
  })

  it.each([
    ['time of passes and operators', 6, 12],
    ['power of passes and operators below the limit', 13, 15],
    ['energy of passes and operators below the limit', 4, 7],
    ['power of operators', 6, 8],
  ])('%s: median below %i percent, nine of ten below %i', (quantity, median, p90) => {
    const summary = summarise(of(quantity))
    expect(summary.median).toBeLessThan(median)
    expect(summary.p90).toBeLessThan(p90)
  })

  it('decode attention of two boards, whose tensors stream through the SMs, draws what was measured within 15 %', () => {
    const errors = [
      ...errorsOf(of('power of operators'), /^attention_decode/),
      ...errorsOf(of('power of passes and operators below the limit'), /^decode/),
    ]
    expect(errors).toHaveLength(2)
    for (const error of errors) expect(Math.abs(error)).toBeLessThan(15)
  })

  it('convolutions with channels first are as fast as measured within 8 % where their arithmetic takes the time', () => {
    const errors = errorsOf(of('throughput of networks'), /^(vgg19|resnet50)/)
    expect(errors).toHaveLength(2)
    for (const error of errors) expect(Math.abs(error)).toBeLessThan(8)
  })

  it.each([
    ['throughput of networks', 16, 37],
    ['power of networks', 8, 15],
    ['throughput of mixes', 27, 44],
  ])('%s: median below %i percent, nine of ten below %i', (quantity, median, p90) => {
    const summary = summarise(of(quantity))
    expect(summary.median).toBeLessThan(median)
    expect(summary.p90).toBeLessThan(p90)
  })
})
