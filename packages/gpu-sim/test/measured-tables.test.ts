import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Comparison, type Summary, summarise } from '../scripts/validate/comparison.js'
import { capSweepTraining } from '../scripts/validate/power-comparisons.js'
import { type Row, readTable } from '../scripts/validate/table.js'
import { matrixProducts, resnetBatch, timmThroughput } from '../scripts/validate/throughput-comparisons.js'

/** The measured tables that the repository holds, and what the documentation says of them. `validate` prints all. */

const folder = path.resolve(import.meta.dirname, '../../reference-data/files/measured')

function summaries(table: string, check: (rows: readonly Row[]) => Comparison[]): Map<string, Summary> {
  return new Map(check(readTable(folder, table)!).map((each) => [`${each.board} ${each.quantity}`, summarise(each)]))
}

describe('measured tables', () => {
  it.each([
    ['rtx3090', 9, 15],
    ['rtx4090', 8, 18],
  ] as const)('networks of timm on %s: median below %i %%, nine of ten below %i %%', (board, median, p90) => {
    const table = `throughput_networks_${board}`
    const [summary] = summaries(table, (rows) => timmThroughput(rows, table)).values()
    expect(summary!.n).toBeGreaterThan(15)
    expect(summary!.median).toBeLessThan(median)
    expect(summary!.p90).toBeLessThan(p90)
  })

  it('batch curves of frameworks, each with its own time of a launch', () => {
    const curves = summaries('throughput_resnet_batch', resnetBatch)
    const median = (start: string) => [...curves].find(([name]) => name.startsWith(start))![1].median
    expect(median('V100 resnet50 images/s by batch, fp16, PyTorch')).toBeLessThan(7)
    expect(median('V100 resnet50 images/s by batch, fp32, PyTorch')).toBeLessThan(12)
    expect(median('V100 resnet50 images/s by batch, fp16, TensorFlow')).toBeLessThan(14)
  })

  it('training under limits on a V100: speed within 4 points, draw within 4 %', () => {
    const of = summaries('cap_sweep_training', capSweepTraining)
    expect(of.get('V100 PCIe median speed kept at a limit, points')!.median).toBeLessThan(4)
    expect(of.get('V100 PCIe draw where the limit takes a quarter and more')!.median).toBeLessThan(4)
  })

  it('matrix products of language models', () => {
    const of = summaries('llm_operators', matrixProducts)
    expect(of.get('A100-80GB matrix products, 512 rows and more')!.median).toBeLessThan(10)
    expect(of.get('A100-80GB matrix products, fewer rows')!.median).toBeLessThan(13)
  })
})
