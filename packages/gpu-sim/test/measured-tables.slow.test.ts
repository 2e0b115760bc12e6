import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { boardTable } from '../scripts/validate/by-board.js'
import { compareTables } from '../scripts/validate/compare-tables.js'
import { type Summary, summarise } from '../scripts/validate/comparison.js'
import { readTables } from '../scripts/validate/table.js'

/** The measured tables that the repository holds, and what the documentation says of them. `validate` prints all. */

const folder = path.resolve(import.meta.dirname, '../../reference-data/files/measured')

const { comparisons, accounts } = compareTables(readTables(folder))

function summaries(table: string): Map<string, Summary> {
  const own = comparisons.filter((each) => each.table === table)
  return new Map(own.map((each) => [`${each.board} ${each.quantity}`, summarise(each)]))
}

describe('measured tables', () => {
  it.each([
    ['rtx3090', 9, 15],
    ['rtx4090', 8, 18],
  ] as const)('networks of timm on %s: median below %i %%, nine of ten below %i %%', (board, median, p90) => {
    const table = `throughput_networks_${board}`
    const [summary] = summaries(table).values()
    expect(summary!.n).toBeGreaterThan(15)
    expect(summary!.median).toBeLessThan(median)
    expect(summary!.p90).toBeLessThan(p90)
  })

  it('batch curves of frameworks, each with its own time of a launch', () => {
    const curves = summaries('throughput_resnet_batch')
    const median = (start: string) => [...curves].find(([name]) => name.startsWith(start))![1].median
    expect(median('V100 resnet50 images/s by batch, fp16, PyTorch')).toBeLessThan(7)
    expect(median('V100 resnet50 images/s by batch, fp32, PyTorch')).toBeLessThan(12)
    expect(median('V100 resnet50 images/s by batch, fp16, TensorFlow')).toBeLessThan(14)
  })

  it('training under limits on a V100: speed within 4 points, draw within 4 %', () => {
    const of = summaries('cap_sweep_training')
    expect(of.get('V100-PCIe median speed kept at a limit, points')!.median).toBeLessThan(4)
    expect(of.get('V100-PCIe draw where the limit takes a quarter and more')!.median).toBeLessThan(4)
  })

  it('matrix products of language models', () => {
    const of = summaries('llm_operators')
    expect(of.get('A100-80GB matrix products, 512 rows and more')!.median).toBeLessThan(10)
    expect(of.get('A100-80GB matrix products, fewer rows')!.median).toBeLessThan(13)
  })

  it('are accounted for row by row', () => {
    for (const [table, rows] of readTables(folder)) {
      const own = accounts.filter((each) => each.table === table)
      expect(own.reduce((sum, each) => sum + each.rows, 0)).toBe(rows.length)
      for (const { values, reason } of own) expect(reason).toMatch(values > 0 ? /^left out: / : /^refused: /)
    }
    expect(boardTable(comparisons).rows.map(([board]) => board)).toContain('V100-PCIe')
  })

  it('are compared with the board that each row names, or refused with a reason', () => {
    const [timm, caps] = ['throughput_networks_rtx4090', 'cap_sweep_training'].map(
      (table) => readTables(folder).get(table)!,
    )
    const rows = (of: typeof timm, board: string, more = {}) => of!.map((row) => ({ ...row, board, ...more }))
    const mixed = new Map([
      ['speed', [...rows(timm, 'RTX 4090'), ...rows(timm, 'RTX 3090'), ...rows(timm, 'GTX 9999')]],
      ['caps', [...rows(caps, 'A40', { cap_w: '' }), ...rows(caps, 'P100')]],
      ['empty', []],
      ['strange', [{ a: '1', b: '2' }]],
    ])
    const found = compareTables(mixed)
    expect([...new Set(found.comparisons.map(({ board }) => board))]).toEqual(['RTX4090', 'RTX3090', 'P100'])
    const why = (board: string) => found.accounts.find((each) => each.board === board)!.reason
    expect(why('GTX 9999')).toMatch(/^refused: unknown GPU 'GTX 9999'/)
    expect(why('A40')).toMatch(/^refused: /)
    expect(why('')).toMatch(/^refused: no comparison for the columns a, b/)
  })
})
