import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type TenantPool, VirtualClock } from '@pctodl/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  allColocationsOf,
  collectTables,
  measureCoRunners,
  mostInformative,
  parseColocationTable,
  SlowdownModel,
} from '../src/index.js'
import { WorkloadCatalog } from '../src/workload.js'
import { exampleStudy } from './example-study.js'

const clock = new VirtualClock()
const window = { warmUpMs: 500, windowMs: 3_000 }
const names = ['resnet50_batch8-inf', 'mobilenet_v2_batch8-inf']
let gpu: SimulatedGpu
let pool: SimulatedTenants
let folder = ''

beforeEach(() => {
  gpu = new SimulatedGpu('V100', { clock, seed: 1 })
  pool = new SimulatedTenants(gpu, { oversubscribe: true })
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-collect-'))
})

afterEach(async () => {
  await pool.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

describe('measuring co-runners', () => {
  it('counts all members over one window, and sharing costs them something', async () => {
    const [alone] = await Promise.all([measureCoRunners(pool, clock, [names[0]!], window)])
    const together = await measureCoRunners(pool, clock, names, window)
    if ('failure' in alone || 'failure' in together) throw new Error('failed')
    expect(together.throughputs).toHaveLength(2)
    expect(together.throughputs[0]).toBeLessThan(alone.throughputs[0]!)
    expect(together.throughputs[0]).toBeGreaterThan(0.2 * alone.throughputs[0]!)
  })

  it('takes the power over the window from the energy counter, where there is one', async () => {
    const alone = await measureCoRunners(pool, clock, [names[0]!], { ...window, gpu })
    const together = await measureCoRunners(pool, clock, names, { ...window, gpu })
    if ('failure' in alone || 'failure' in together) throw new Error('failed')
    expect(alone.powerW).toBeGreaterThan(80)
    expect(together.powerW).toBeGreaterThan(alone.powerW!)
    expect(together.powerW).toBeLessThan(310)
    const counting = { sample: async () => ({ ...(await gpu.sample()), energyJ: null }) }
    await expect(measureCoRunners(pool, clock, names, { ...window, gpu: counting })).rejects.toThrow(
      'no energy counter',
    )
    expect(await measureCoRunners(pool, clock, names, window)).not.toHaveProperty('powerW')
  })

  it('reports what cannot run, and refuses what cannot be measured', async () => {
    const tooLarge = ['vgg19_batch4096-inf', names[0]!]
    expect(await measureCoRunners(pool, clock, tooLarge, window)).toMatchObject({
      names: tooLarge,
      failure: expect.stringContaining('vgg19 x 4096: out of memory'),
    })
    await expect(measureCoRunners(pool, clock, ['bert_batch8-train'], window)).rejects.toThrow('an inference workload')
    await expect(measureCoRunners(pool, clock, names, { warmUpMs: 0, windowMs: 2 })).rejects.toThrow(
      'use a longer window',
    )
    await expect(measureCoRunners(pool, clock, names, { windowMs: 0 })).rejects.toThrow('above 0')
  })

  it('lets five seconds pass and counts for thirty, unless told otherwise', async () => {
    const times: number[] = []
    const timed: TenantPool = {
      apply: async (tenants, options) => {
        const applied = await pool.apply(tenants, options)
        times.push(clock.now())
        return applied
      },
      stop: () => pool.stop(),
      counters: () => {
        times.push(clock.now())
        return pool.counters()
      },
    }
    await measureCoRunners(timed, clock, names)
    await measureCoRunners(timed, clock, names, window)
    const spans = times.slice(1).map((timeMs, i) => Math.round(timeMs - times[i]!))
    expect([spans.slice(0, 2), spans.slice(3)]).toEqual([
      [5_000, 30_000],
      [500, 3_000],
    ])
  })

  it('is content with three batches of each member, and gives their samples over their own time', async () => {
    const completing = (batches: number): TenantPool => {
      let readings = 0
      return {
        apply: (tenants, options) => pool.apply(tenants, options),
        stop: () => pool.stop(),
        counters: () => {
          const since = readings++ === 0 ? 0 : batches
          return pool.counters().map((counters) => ({
            ...counters,
            batches: 50 + since,
            samples: 400 + 8 * since,
            lastCompletionMs: 7_000 + 800 * since,
          }))
        },
      }
    }
    expect(await measureCoRunners(completing(3), clock, names, window)).toEqual({ names, throughputs: [10, 10] })
    await expect(measureCoRunners(completing(2), clock, names, window)).rejects.toThrow('2 batches in 3000 ms')
  })

  it('does not take a restarted process for a slow one', async () => {
    let readings = 0
    const restarting: TenantPool = {
      apply: (tenants, options) => pool.apply(tenants, options),
      stop: () => pool.stop(),
      counters: () => {
        readings++
        return pool.counters().map((counters) => (readings > 1 ? { ...counters, id: counters.id + 1 } : counters))
      },
    }
    await expect(measureCoRunners(restarting, clock, names, window)).rejects.toThrow('its process was restarted')
  })
})

describe('collecting tables', () => {
  const { catalog } = exampleStudy()
  const some = new WorkloadCatalog(catalog.all(names))
  const plan = allColocationsOf(names, 2)

  it('goes on where a run ended, whatever ended it', async () => {
    const interrupted = new AbortController()
    const measured: string[] = []
    const first = collectTables(pool, clock, some, plan, folder, {
      ...window,
      signal: interrupted.signal,
      onMeasured: ({ names: members }) => {
        measured.push(members.join('+'))
        if (measured.length === 2) interrupted.abort(new Error('interrupted'))
      },
    })
    await expect(first).rejects.toThrow('interrupted')
    const failures = await collectTables(pool, clock, some, plan, folder, {
      ...window,
      gpu,
      onMeasured: ({ names: members }) => measured.push(members.join('+')),
    })
    expect(failures).toEqual([])
    expect(measured).toEqual(plan.map((members) => members.join('+')))
    const table = parseColocationTable(readFileSync(path.join(folder, 'colocations2.csv'), 'utf8'), some)
    expect(table.map(({ members }) => members.map(({ name }) => name))).toEqual(plan)
    // The two that the first run measured have no power, and keep their row without.
    expect(table.map(({ powerW }) => powerW !== undefined)).toEqual([false, false, true])
  })
})

describe('what to measure next', () => {
  it('is what the model is least sure of, and nothing that is known', () => {
    const { catalog, pairs } = exampleStudy()
    const known = pairs.filter(({ members }) => members.every(({ name }) => !name.startsWith('vgg19')))
    const candidates = allColocationsOf([...catalog], 2)
    const ranked = mostInformative(
      SlowdownModel.fit(known.slice(0, 60)),
      candidates,
      known.map(({ members }) => members),
    )
    expect(ranked).toHaveLength(candidates.length - known.length)
    expect(ranked[0]!.members.some(({ name }) => name.startsWith('vgg19'))).toBe(true)
    for (let i = 1; i < ranked.length; i++)
      expect(ranked[i]!.relativeWidth).toBeLessThanOrEqual(ranked[i - 1]!.relativeWidth)
  })
})
