import { findGpuSpec, networkNames } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { knownOfBoard } from '../src/active-design.js'
import { activeSweep } from '../src/plan/active-sweep.js'
import { chooseRows } from '../src/plan/row-chooser.js'

const spec = findGpuSpec('A100')
const at = (model: string, mpsPercent: number, smClockMhz = 1005) => ({
  tenants: [{ model, mpsPercent, batchSize: 16 }],
  smClockMhz,
  memClockMhz: 1215,
})

describe('chooseRows', () => {
  it('takes what is known least where all else is equal, and then something else', () => {
    const pool = [at('vgg19', 20), at('resnet50', 20), at('maxvit_t', 20)]
    expect(chooseRows(pool, [0.1, 0.3, 0.2], [1, 1, 1], 1410, 3)).toEqual([1, 2, 0])
  })

  it('takes what says most of what counts, though it counts for nothing itself', () => {
    const pool = [at('vgg19', 20), at('vgg19', 22), at('vgg19', 24), at('resnet50', 20)]
    expect(chooseRows(pool, [0.1, 0.1, 0.1, 0.1], [1, 0, 1, 0], 1410, 1)).toEqual([1])
  })

  it('spreads over what counts, and measures nothing twice while something else is as unknown', () => {
    const pool = Array.from({ length: 60 }, (_, i) =>
      at(networkNames[i % networkNames.length]!, 1 + ((17 * i) % 100), 210 + ((300 * i) % 1200)),
    )
    const sds = pool.map(() => 0.1)
    const chosen = chooseRows(pool, sds, sds, 1410, 14)
    expect(new Set(chosen).size).toBe(14)
    expect(new Set(chosen.slice(0, 7).map((i) => pool[i]!.tenants[0]!.model))).toEqual(new Set(networkNames))
  })
})

describe('activeSweep', () => {
  const plan = at('resnet50', 60, 1110)
  const request = { count: 12, seed: 3, plans: [plan], sdOf: () => 0.05 }

  it('gives rows that the board can run, the same ones each time, and the plan among the first', () => {
    const rows = activeSweep(spec, ['resnet50', 'vgg19'], 1215, request)
    expect(rows).toHaveLength(12)
    for (const { tenants, smClockMhz, memClockMhz, sweep } of rows) {
      expect(tenants.reduce((sum, tenant) => sum + tenant.mpsPercent, 0)).toBeLessThanOrEqual(100)
      expect(smClockMhz).toBeGreaterThanOrEqual(210)
      expect({ memClockMhz, sweep }).toEqual({ memClockMhz: 1215, sweep: 'active' })
    }
    expect(activeSweep(spec, ['resnet50', 'vgg19'], 1215, request)).toEqual(rows)
    const near = rows.slice(0, 3).some(({ tenants }) => tenants.every((tenant) => tenant.model === 'resnet50'))
    expect(near).toBe(true)
  })

  it('takes nothing that cannot be measured', () => {
    const sdOf = ({ tenants }: { readonly tenants: readonly unknown[] }) => (tenants.length <= 2 ? 0.1 : undefined)
    const rows = activeSweep(spec, ['resnet50'], 1215, { ...request, sdOf })
    expect(Math.max(...rows.map(({ tenants }) => tenants.length))).toBeLessThanOrEqual(2)
    expect(() => activeSweep(spec, ['resnet50'], 1215, { ...request, sdOf: () => undefined })).toThrow(
      /models.*networks with a configuration that fits/,
    )
  })
})

describe('knownOfBoard', () => {
  it('knows the plans of a network over the caps, and how uncertain any configuration is', async () => {
    const { plans, sdOf } = await knownOfBoard(spec, ['resnet50'], undefined)
    expect(plans.length).toBeGreaterThan(4)
    expect(new Set(plans.flatMap(({ tenants }) => tenants.map(({ model }) => model)))).toEqual(new Set(['resnet50']))
    for (const plan of plans) expect(sdOf(plan)).toBeGreaterThan(0)
    const tenant = { model: 'vgg19', mpsPercent: 5, batchSize: 256 }
    const tooMuch = { ...at('vgg19', 5), tenants: Array.from({ length: 20 }, () => tenant) }
    expect(sdOf(tooMuch)).toBeUndefined()
  })

  it('says what a board without parameters lacks', async () => {
    await expect(knownOfBoard(findGpuSpec('T4'), ['resnet50'], undefined)).rejects.toThrow(
      /unknown parameter set 'T4'; known: 3080Ti, A100/,
    )
  })
})
