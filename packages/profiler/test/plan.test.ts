import { findGpuSpec, smClocksAt } from '@pctodl/platform'
import { makePlan, mixSweep, parsePlan, sweepRows } from '@pctodl/profiler'
import { goldenJson } from '@pctodl/reference-data'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anchorGrid, clocksGrid, tenantsOfGrid } from '../src/plan/anchor-grid.js'
import { clocksOfRange } from '../src/plan/clock-range.js'
import { expectedDuration } from '../src/plan/expected-duration.js'
import type { PlannedRow } from '../src/plan/profile-plan.js'

const a100 = findGpuSpec('A100')
const rtx3080Ti = findGpuSpec('3080Ti')
const anchors = sweepRows(a100, {
  sweep: 'anchor',
  configurations: tenantsOfGrid('resnet50', anchorGrid),
  smClocks: null,
  memClockMhz: 1215,
})
const clocks = sweepRows(a100, {
  sweep: 'clocks',
  configurations: tenantsOfGrid('resnet50', clocksGrid),
  smClocks: {},
  memClockMhz: 1215,
})
const canonical = (rows: readonly PlannedRow[]) => rows.map((row) => JSON.stringify(row)).sort()

describe('the anchor grid', () => {
  it('has 263 cells that fit on the board, 64 of them with one tenant', () => {
    const { rows } = makePlan(a100, anchors, { seed: 1 })
    expect(rows).toHaveLength(263)
    expect(new Set(canonical(rows)).size).toBe(263)
    expect(rows.filter((row) => row.tenants.length === 1)).toHaveLength(64)
    for (const { tenants } of rows)
      expect(tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBeLessThanOrEqual(100)
  })

  it('is the published one', () => {
    const { stressMatrix } = goldenJson('pctodl/profiler_matrix.json') as {
      stressMatrix: readonly Readonly<Record<'mpsPct' | 'taskCounts' | 'batches', unknown>>[]
    }
    expect(anchorGrid).toEqual(
      stressMatrix.map(({ mpsPct, taskCounts, batches }) => ({
        mpsPercent: mpsPct,
        tenantCounts: taskCounts,
        batchSizes: batches,
      })),
    )
  })
})

describe('sweeps along the clock', () => {
  it('go from the lowest to the highest state in steps of 150 MHz', () => {
    expect(clocksOfRange(a100, 1215)).toEqual([210, 360, 510, 660, 810, 960, 1110, 1260, 1410])
    expect(clocksOfRange(rtx3080Ti, 9501).at(-1)).toBe(2100)
    expect(clocksOfRange(a100, null, { fromMhz: 1000, toMhz: 1100, stepMhz: 40 })).toEqual([1005, 1035, 1080, 1095])
    expect(() => clocksOfRange(a100, 1215, { fromMhz: 1410, toMhz: 210 })).toThrow(/start of at most the end/)
    expect(() => clocksOfRange(a100, 877)).toThrow(/one of 1215 MHz/)
  })

  it('have nine configurations at each clock', () => {
    expect(clocks).toHaveLength(9 * 9)
    expect(new Set(clocks.map(({ smClockMhz }) => smClockMhz)).size).toBe(9)
  })
})

describe('mixes', () => {
  it('fit on the board and ask for what it has', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.nat(1e6),
        fc.integer({ min: 2, max: 20 }),
        (count, seed, maxTenants) => {
          const rows = mixSweep(rtx3080Ti, ['resnet50', 'vgg19'], 5001, { count, seed, maxTenants })
          expect(rows).toHaveLength(count)
          for (const { tenants, smClockMhz } of rows) {
            expect(tenants.length).toBeGreaterThanOrEqual(1)
            expect(tenants.length).toBeLessThanOrEqual(maxTenants)
            expect(tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBeLessThanOrEqual(100)
            expect(tenants.every(({ mpsPercent }) => mpsPercent >= 1 && Number.isInteger(mpsPercent))).toBe(true)
            expect(smClocksAt(rtx3080Ti, 5001)).toContain(smClockMhz)
          }
        },
      ),
    )
  })

  it('cover corners: many tenants, one tenant, low clocks, small batches, equal tenants, several networks', () => {
    const rows = mixSweep(a100, ['resnet50', 'vgg19'], 1215, { count: 900, seed: 3 })
    const share = (has: (row: (typeof rows)[number]) => boolean) => rows.filter(has).length / rows.length
    expect(share(({ tenants }) => tenants.length > 8)).toBeGreaterThan(0.15)
    expect(share(({ tenants }) => tenants.length === 1)).toBeGreaterThan(0.05)
    expect(share(({ smClockMhz }) => smClockMhz! <= 330)).toBeGreaterThan(0.15)
    expect(share(({ tenants }) => tenants.every(({ batchSize }) => batchSize <= 2))).toBeGreaterThan(0.1)
    expect(share(({ tenants }) => tenants.every((tenant) => tenant === tenants[0]))).toBeGreaterThan(0.3)
    expect(share(({ tenants }) => new Set(tenants.map(({ model }) => model)).size > 1)).toBeGreaterThan(0.15)
  })

  it('are those of the seed', () => {
    const draw = (seed: number) => mixSweep(a100, ['resnet50'], 1215, { count: 20, seed })
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
  })
})

describe('makePlan', () => {
  const rows = [...anchors, ...clocks]
  const orderedBy = (seed: number) => makePlan(a100, rows, { seed }).rows

  it('permutes, by the seed', () => {
    fc.assert(
      fc.property(fc.nat(1e6), (seed) => {
        const ordered = orderedBy(seed)
        expect(canonical(ordered)).toEqual(canonical(rows))
        expect(orderedBy(seed)).toEqual(ordered)
      }),
      { numRuns: 10 },
    )
    expect(orderedBy(1)).not.toEqual(orderedBy(2))
  })

  it('starts every set of processes once', () => {
    const plan = makePlan(a100, rows, { seed: 5 })
    // 39 sets of (share, count) in the grid; of the sweep's three, 4 x 25 % and 10 x 10 % are among them.
    expect(expectedDuration(plan)).toMatchObject({ rows: 263 + 81, restarts: 40 })
  })

  it('repeats in passes, so that repeats lie far apart', () => {
    const plan = makePlan(a100, anchors, { seed: 5, repeats: 3 })
    expect(plan.rows).toHaveLength(3 * 263)
    expect(new Set(plan.rows.map((row) => row.repeat))).toEqual(new Set([0, 1, 2]))
  })
})

describe('plan files', () => {
  const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }]
  const row = { sweep: 'single', tenants, smClockMhz: 1410, memClockMhz: 1215, repeat: 0 } as const
  const plan = makePlan(a100, [row, { ...row, sweep: 'static', tenants: [] }], { seed: 1 })

  it('read back what was written', () => {
    expect(parsePlan(JSON.parse(JSON.stringify(plan)), 'plan.json')).toEqual(plan)
  })

  it.each([
    [{ ...plan, version: 2 }, /plan\.json: version/],
    [{ ...plan, rows: [] }, /plan\.json: rows/],
    [{ ...plan, rows: [{ ...plan.rows[0], smClockMhz: 'fast' }] }, /plan\.json: rows\.0\.smClockMhz: got 'fast'/],
    [
      {
        ...plan,
        rows: [
          {
            ...plan.rows[0],
            tenants: [
              { model: 'x', mpsPercent: 60, batchSize: 1 },
              { model: 'x', mpsPercent: 60, batchSize: 1 },
            ],
          },
        ],
      },
      /120, expected shares of at most 100/,
    ],
    ['plan', /plan\.json: got 'plan'/],
  ])('refuse what is none', (json, message) => {
    expect(() => parsePlan(json, 'plan.json')).toThrow(message)
  })

  it('refuse clocks that the board does not have', () => {
    const at = (smClockMhz: number) => () => makePlan(a100, [{ ...row, smClockMhz }], { seed: 1 })
    expect(at(1410)).not.toThrow()
    expect(() => makePlan(a100, [], { seed: 1 })).toThrow(/plan: got \[\], expected at least one row/)
    expect(at(1411)).toThrow(/SM clock: got 1411, expected a state of NVIDIA A100-PCIE-40GB, 210 to 1410 MHz/)
  })
})
