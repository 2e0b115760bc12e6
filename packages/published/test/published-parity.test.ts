import { loadPublishedParameters } from '@pctodl/published'
import { goldenRows, referenceFolder } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import type { PublishedParameters } from '../src/predictor/published-parameters.js'

type GoldenRow = Readonly<Record<string, string>>

/** The largest error over a golden file, relative to the golden value or to `floor`, whichever is larger. */
function worstError(reference: PublishedParameters, rows: readonly GoldenRow[], floor: number) {
  let worst = 0
  for (const row of rows) {
    const mode = row['mode']
    const predictor = reference.predictor({
      model: row['model']!,
      dataset: row['dataset'] || undefined,
      platform: row['platform'] || undefined,
      memFreq: Number(row['mem_freq']),
      oversubscribe: true,
      whenMissing: 'reference-defaults',
      ensembles: mode === undefined,
      smSystemStage: mode === 'physics_smsys',
    })
    const set = predictor.set
    const parts = set ? [set.dataset, set.platform, `mem${set.memClockMhz}`] : ['NONE']
    expect(parts.filter((part) => part !== null).join('_'), `row ${row['row_id']}`).toBe(row['param_set'])
    const numbers = (list: string) => list.split(' ').map(Number)
    const found = predictor.predictAll(numbers(row['p_list']!), numbers(row['b_list']!), Number(row['f_mhz']))
    for (const [value, column] of [
      [found.smUtilPercent, 'u_sm'],
      [found.memUtilPercent, 'u_mem'],
      [found.throughput, 'throughput'],
      [found.powerW, 'power'],
    ] as const) {
      const golden = Number(row[column])
      const error = Math.abs(value - golden) / Math.max(Math.abs(golden), floor)
      worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error)
    }
  }
  return worst
}

describe('parity with the Python code', () => {
  const reference = loadPublishedParameters(referenceFolder('pctodl-params'))

  it('predicts what the published predictor predicts, all four ensembles and its silent constants included', () => {
    const rows = goldenRows('pctodl-params/golden_predict.csv')
    // The ends of every input and output of each of the 34 sets, and of the selections without one.
    expect(rows.length).toBeGreaterThan(350)
    expect(new Set(rows.map((row) => [row['model'], row['param_set']].join())).size).toBeGreaterThan(34)
    expect(worstError(reference, rows, 1e-300)).toBeLessThan(1e-9)
  })

  it('gives the closed forms, with and without the SM system stage', () => {
    const rows = goldenRows('pctodl-params/golden_physics.csv')
    expect(new Set(rows.map((row) => row['mode']))).toEqual(new Set(['physics', 'physics_smsys']))
    // The Python code's closed forms run in float32: 1e-5 relative, 1e-4 absolute near zero.
    expect(worstError(reference, rows, 10)).toBeLessThan(1e-5)
  })

  it('has all 34 sets, and every ensemble can be read', () => {
    expect(reference.sets).toHaveLength(34)
    for (const { model, dataset, platform, memClockMhz: memFreq } of reference.sets) {
      const selection = { model, dataset: dataset ?? undefined, platform: platform ?? undefined, memFreq }
      expect(reference.predictor(selection).predictAll([40], [8], 1200).powerW).toBeGreaterThan(20)
    }
  })
})
