import { findGpuSpec } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { activeSweep, knownOfBoard } from '../src/plan/active-design.js'

const spec = findGpuSpec('A100')
const at = (model: string, mpsPercent: number, smClockMhz = 1005) => ({
  tenants: [{ model, mpsPercent, batchSize: 16 }],
  smClockMhz,
  memClockMhz: 1215,
})

describe('activeSweep', () => {
  const plans = [60, 61, 62].map((share) => at('resnet50', share, 1110))
  const request = { count: 12, seed: 3, plans, fits: () => true }

  it('gives rows that the board can run, the same ones each time, all plans and else mixes', () => {
    const rows = activeSweep(spec, ['resnet50', 'vgg19'], 1215, request)
    expect(rows).toHaveLength(12)
    for (const { tenants, smClockMhz, memClockMhz, sweep } of rows) {
      expect(tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBeLessThanOrEqual(100)
      expect(smClockMhz).toBeGreaterThanOrEqual(210)
      expect({ memClockMhz, sweep }).toEqual({ memClockMhz: 1215, sweep: 'active' })
    }
    expect(activeSweep(spec, ['resnet50', 'vgg19'], 1215, request)).toEqual(rows)
    const plansAmong = (all: typeof rows) =>
      plans.filter((plan) => all.some(({ tenants }) => tenants === plan.tenants)).length
    expect(plansAmong(rows)).toBe(3)
    expect(plansAmong(activeSweep(spec, ['resnet50'], 1215, { ...request, count: 4 }))).toBe(2)
    expect(plansAmong(activeSweep(spec, ['resnet50'], 1215, { ...request, count: 4, seed: 4 }))).toBe(2)
  })

  it('takes nothing that cannot be measured', () => {
    const fits = ({ tenants }: { readonly tenants: readonly unknown[] }) => tenants.length <= 2
    const rows = activeSweep(spec, ['resnet50'], 1215, { ...request, fits })
    expect(Math.max(...rows.map(({ tenants }) => tenants.length))).toBeLessThanOrEqual(2)
    expect(() => activeSweep(spec, ['resnet50'], 1215, { ...request, fits: () => false })).toThrow(
      /models.*networks with 12 configurations that fit/,
    )
  })
})

describe('knownOfBoard', () => {
  it('knows the plans of a network over the caps, and what fits', async () => {
    const { plans, fits } = await knownOfBoard(spec, ['resnet50'])
    expect(plans.length).toBeGreaterThan(4)
    expect(new Set(plans.flatMap(({ tenants }) => tenants.map(({ model }) => model)))).toEqual(new Set(['resnet50']))
    for (const plan of plans) expect(fits(plan)).toBe(true)
    const tenant = { model: 'vgg19', mpsPercent: 5, batchSize: 256 }
    expect(fits({ tenants: Array.from({ length: 20 }, () => tenant) })).toBe(false)
  })

  it('says what a board without parameters lacks', async () => {
    await expect(knownOfBoard(findGpuSpec('T4'), ['resnet50'])).rejects.toThrow(
      /unknown parameter set 'T4'; known: 3080Ti, A100/,
    )
  })
})
