import { describe, expect, it } from 'vitest'
import type { RunRecord } from '../src/record/run-record.js'
import { formatResultsCsv } from '../src/table/results-csv.js'
import { fixedSetting, manners, syntheticRun } from './synthetic-runs.js'

type Window = RunRecord['windows'][number]

const tenants = [
  { model: 'resnet50', mpsPercent: 30, batchSize: 64 },
  { model: 'resnet50', mpsPercent: 15, batchSize: 32 },
  { model: 'resnet50', mpsPercent: 12.5, batchSize: 8 },
]

const full: Window = {
  iteration: 1,
  startMs: 0,
  endMs: 5000,
  startedAt: new Date('2026-03-01T23:59:58.900Z'),
  powerCapW: 180,
  powerAverageW: 171.28129,
  powerMaxW: 179.005,
  smClockMhz: 1094.6,
  memClockMhz: 1215,
  smUtilPercent: 97.5,
  memUtilPercent: 41.257,
  throughput: 1205.4,
  samples: 6027,
  tenants: tenants.map((tenant) => ({ tenant, throughput: 1, latencyMs: null, failure: null })),
  applied: { smClockMhz: 1110, memClockMhz: 1215 },
  reconfigured: false,
}

const header =
  'iter,mps_resources,batch_sizes,sm_freq_mhz,mem_freq_mhz,sm_util,mem_util,throughput_total,power_avg,power_max,power_cap_w,timestamp'

describe('formatResultsCsv', () => {
  it('writes the Python code columns, lists, decimals and a UTC time stamp', () => {
    expect(formatResultsCsv([full])).toBe(
      `${header}\n1,"[30,15,12.5]","[64,32,8]",1110,1215,97.50,41.26,1205.40,171.28,179.00,180,2026-03-01 23:59:58\n`,
    )
  })

  it('takes measured clocks where they are not locked and leaves missing measurements empty', () => {
    const sparse: Window = {
      ...full,
      iteration: 2,
      powerAverageW: null,
      powerMaxW: null,
      smUtilPercent: null,
      memUtilPercent: null,
      memClockMhz: null,
      applied: { ...full.applied, smClockMhz: null, memClockMhz: null },
    }
    expect(formatResultsCsv([full, sparse]).split('\n')[2]).toBe(
      '2,"[30,15,12.5]","[64,32,8]",1095,,,,1205.40,,,180,2026-03-01 23:59:58',
    )
  })

  it('quotes also the list of a single tenant', () => {
    expect(formatResultsCsv([{ ...full, tenants: full.tenants.slice(0, 1) }])).toContain('\n1,"[30]","[64]",1110,')
  })

  it('is a header alone for a run without windows', () => {
    expect(formatResultsCsv([])).toBe(`${header}\n`)
  })

  it('has twelve cells in every row of a whole run', () => {
    const rows = formatResultsCsv(syntheticRun(fixedSetting, manners[2]!).windows).trimEnd().split('\n')
    expect(rows).toHaveLength(25)
    for (const row of rows) expect(row.replaceAll(/"[^"]*"/g, 'list').split(',')).toHaveLength(12)
  })
})
