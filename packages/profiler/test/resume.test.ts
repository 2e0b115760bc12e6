import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openSimulated } from '@pctodl/backend'
import { SeededRandom } from '@pctodl/numerics'
import { makePlan, readTrace, runPlan, sweepRows, TraceStore } from '@pctodl/profiler'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tenantsOfGrid } from '../src/plan/anchor-grid.js'
import type { Manifest } from '../src/trace/manifest.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-resume-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const spec = openSimulated({ gpu: 'A100' }).gpu.spec
const grid = tenantsOfGrid('resnet50', [{ mpsPercent: 20, tenantCounts: [1, 3], batchSizes: [4, 32] }])
const clocks = { fromMhz: 210, toMhz: 1410, stepMhz: 600 }
const planned = [
  ...sweepRows(spec, { sweep: 'anchor', configurations: grid, smClocks: null, memClockMhz: 1215 }),
  ...sweepRows(spec, { sweep: 'static', configurations: [[]], smClocks: clocks, memClockMhz: 1215 }),
]
const plan = makePlan(spec, planned, { seed: 9 })
const manifest: Manifest = {
  version: 1,
  tool: 'test',
  node: process.version,
  startedAt: '2026-01-01T00:00:00.000Z',
  backend: 'sim',
  board: { key: 'A100', name: spec.name, uuid: 'GPU-1', driverVersion: 'simulated', powerLimitW: 250 },
  inputs: 'real',
  planSha256: 'abc',
  plan,
}

/** Measure what is left of the plan into `out`. */
async function go(out: string, resume: boolean, seed = 1): Promise<number> {
  const store = new TraceStore(out, manifest, resume)
  try {
    await runPlan(openSimulated({ gpu: 'A100', seed }), plan, {
      measured: store.measured,
      onRow: (row) => store.append(row),
    })
    return store.measured.length
  } finally {
    store.close()
  }
}

describe('a run that is resumed', () => {
  const out = path.join(folder, 'whole', 'a100.csv')
  const staticOut = path.join(folder, 'whole', 'a100.static.csv')
  let trace: Buffer
  let staticTrace: Buffer

  beforeAll(async () => {
    await go(out, false)
    trace = readFileSync(out)
    staticTrace = readFileSync(staticOut)
  })

  it('has measured every row of the plan once', () => {
    const rows = readTrace(out)
    expect(rows.map(({ row }) => row)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(rows.filter(({ tenants }) => tenants.length === 0)).toHaveLength(3)
    expect(staticTrace.toString().trim().split('\n')).toHaveLength(1 + 3)
  })

  it('ends with the same bytes wherever it was cut', async () => {
    const random = new SeededRandom(11)
    // The rows of both files in the order in which they were written: a kill leaves a prefix of that.
    const measuredAt = (line: string) => Number(line.match(/,(\d+),(?:anchor,)?0,ok,/)![1])
    const events = [trace, staticTrace].flatMap((bytes, file) =>
      bytes
        .toString()
        .split(/(?<=\n)/)
        .slice(1)
        .map((line) => ({ file, line, row: measuredAt(line) })),
    )
    events.sort((a, b) => a.row - b.row)
    const headers = [trace, staticTrace].map((bytes) => bytes.toString().split(/(?<=\n)/)[0]!)
    for (let attempt = 0; attempt < 40; attempt++) {
      const cut = path.join(folder, `cut-${attempt}`, 'a100.csv')
      const files = ['', '']
      const whole = random.integer(events.length + 1)
      for (const { file, line } of events.slice(0, whole)) files[file] += line
      const torn = events[whole]
      if (torn) files[torn.file] += torn.line.slice(0, random.integer(torn.line.length))
      mkdirSync(path.dirname(cut))
      // The manifest is there before everything; a header may be torn as well.
      writeFileSync(cut.replace('.csv', '.manifest.json'), JSON.stringify(manifest))
      const [first, second] = files.map((text, i) => headers[i]! + text)
      const tornHeader = attempt % 8 === 0
      writeFileSync(cut, tornHeader ? headers[0]!.slice(0, random.integer(headers[0]!.length)) : first!)
      if (!tornHeader) writeFileSync(cut.replace('.csv', '.static.csv'), second!)
      expect(await go(cut, true)).toBe(tornHeader ? 0 : whole)
      expect(readFileSync(cut).equals(trace), `cut ${attempt} after ${whole} rows`).toBe(true)
      expect(readFileSync(cut.replace('.csv', '.static.csv')).equals(staticTrace)).toBe(true)
      if (attempt % 20 === 0) expect(await go(cut, true), 'nothing is left to do').toBe(plan.rows.length)
    }
  })

  it('is another one on another board: the comparison can fail', async () => {
    const other = path.join(folder, 'other', 'a100.csv')
    await go(other, false, 2)
    expect(readFileSync(other).equals(trace)).toBe(false)
  })

  it('is refused over a run of another plan, board or input', () => {
    for (const different of [
      { planSha256: 'def' },
      { backend: 'nvml' },
      { inputs: 'zeros' },
      { board: { ...manifest.board, uuid: 'GPU-2' } },
      { board: { ...manifest.board, driverVersion: '999' } },
    ]) {
      expect(() => new TraceStore(out, { ...manifest, ...different }, true)).toThrow(
        /another (plan|backend|input|board|driver)/,
      )
    }
  })

  it('does not write over files that exist', () => {
    writeFileSync(out, 'rows of another\n')
    expect(() => new TraceStore(out, manifest, false)).toThrow(/exists; go on with it by --resume/)
    expect(readFileSync(out, 'utf8')).toBe('rows of another\n')
    const strange = path.join(folder, 'strange.csv')
    writeFileSync(strange, 'time,power\n1,2\n')
    expect(() => new TraceStore(strange, manifest, true)).toThrow(/no manifest/)
    writeFileSync(path.join(folder, 'strange.manifest.json'), JSON.stringify(manifest))
    expect(() => new TraceStore(strange, manifest, true)).toThrow(/other columns/)
    expect(readFileSync(strange, 'utf8')).toBe('time,power\n1,2\n')
  })
})
