import { boardVariants, simulateSteadyState } from '@pctodl/gpu-sim'
import { mean, SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, ParameterVersionError, PerfModel, shippedParameters } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { loadPublishedParameters } from '@pctodl/published'
import { goldenRows, referenceFolder } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import { randomConfigurations } from './random-configurations.js'

describe.each(['A100', '3080Ti'])('the predictor of the %s', (board) => {
  const model = loadPerfModel(board)
  const asked = randomConfigurations(model, 60, 31)

  it('says what a board then does, to a few percent', () => {
    const simulate = simulateSteadyState(board, { powerLimitW: 1e9 })
    const logs = {
      throughput: [] as number[],
      powerW: [] as number[],
      smUtilPercent: [] as number[],
      memUtilPercent: [] as number[],
    }
    const each: number[] = []
    for (const configuration of randomConfigurations(model, 150, 77)) {
      const truth = simulate(configuration)
      const said = model.predict(configuration)
      logs.throughput.push(Math.log(said.throughput / truth.throughput))
      logs.powerW.push(Math.log(said.powerW / truth.powerW))
      logs.smUtilPercent.push((said.smUtilPercent - truth.smUtilPercent) / 100)
      logs.memUtilPercent.push((said.memUtilPercent - truth.memUtilPercent) / 100)
      for (const [i, { throughput }] of said.tenants.entries()) {
        each.push(Math.log(throughput / truth.tenants[i]!.throughput))
      }
    }
    const rms = (values: readonly number[]) => Math.sqrt(mean(values.map((value) => value ** 2)))
    expect(rms(logs.throughput), 'throughput').toBeLessThan(0.035)
    expect(rms(each), 'throughput of a tenant').toBeLessThan(0.05)
    expect(rms(logs.powerW), 'power').toBeLessThan(0.016)
    expect(rms(logs.smUtilPercent), 'SM utilisation').toBeLessThan(0.06)
    expect(rms(logs.memUtilPercent), 'memory utilisation').toBeLessThan(0.046)
  })

  it('says how far other boards of the kind are from that', () => {
    const errors = { throughput: [] as number[], powerW: [] as number[] }
    for (const variant of boardVariants(board, { count: 5, seed: 71 })) {
      const simulate = simulateSteadyState(variant, { powerLimitW: 1e9 })
      for (const configuration of randomConfigurations(model, 40, 77)) {
        const truth = simulate(configuration)
        const said = model.quantiles(configuration, [0.1587, 0.5])
        for (const what of ['throughput', 'powerW'] as const) {
          const [low, middle] = said[what]
          errors[what].push(Math.log(truth[what] / middle!) / Math.log(middle! / low!))
        }
      }
    }
    for (const [what, sds] of Object.entries(errors)) {
      const size = Math.sqrt(mean(sds.map((value) => value ** 2)))
      expect(size, what).toBeGreaterThan(0.4)
      expect(size, what).toBeLessThan(1.4)
    }
  })

  it('adds up: tenants to the board, batches to time, in the order that was given', () => {
    for (const configuration of asked) {
      const { throughput, tenants, powerW, smUtilPercent, memUtilPercent } = model.predict(configuration)
      expect(mean(tenants.map((tenant) => tenant.throughput)) * tenants.length).toBeCloseTo(throughput, 6)
      tenants.forEach((tenant, i) => {
        const { batchSize } = configuration.tenants[i]!
        // Between two batches a tenant may compute nothing: no more than one batch in the time of one.
        expect((tenant.throughput * tenant.latencyMs) / 1000 / batchSize).toBeLessThan(1 + 1e-9)
        expect((tenant.throughput * tenant.latencyMs) / 1000 / batchSize).toBeGreaterThan(0.5)
        expect(tenant.p99LatencyMs).toBeGreaterThan(tenant.latencyMs)
      })
      for (const percent of [smUtilPercent, memUtilPercent]) {
        expect(percent).toBeGreaterThanOrEqual(0)
        expect(percent).toBeLessThanOrEqual(100)
      }
      expect(powerW).toBeGreaterThan(0.05 * model.spec.powerLimitW.default)
      expect(powerW).toBeLessThan(1.6 * model.spec.powerLimitW.max)
      const turned = model.predict({ ...configuration, tenants: configuration.tenants.toReversed() })
      expect(turned.throughput / throughput).toBeCloseTo(1, 9)
      expect(turned.powerW / powerW).toBeCloseTo(1, 9)
      expect(turned.tenants[0]!.latencyMs / tenants.at(-1)!.latencyMs).toBeCloseTo(1, 9)
    }
  })

  it('says the same one by one and in a batch', () => {
    const tenants = asked.flatMap((configuration) => configuration.tenants)
    let first = 0
    const batch = model.predictBatch({
      network: tenants.map((tenant) => model.networks.indexOf(tenant.model)),
      mpsPercent: tenants.map(({ mpsPercent }) => mpsPercent),
      batchSize: tenants.map(({ batchSize }) => batchSize),
      firstTenant: [0, ...asked.map((configuration) => (first += configuration.tenants.length))],
      smClockMhz: asked.map(({ smClockMhz }) => smClockMhz),
      memClockMhz: asked.map(({ memClockMhz }) => memClockMhz),
    })
    let at = 0
    asked.forEach((configuration, c) => {
      const { tenants: each, distance: _, ...totals } = model.predict(configuration)
      for (const [what, value] of Object.entries(totals)) {
        expect(batch[what as 'powerW'][c], what).toBe(value)
      }
      each.forEach(({ throughput, latencyMs }) => {
        expect([batch.tenantThroughput[at], batch.tenantLatencyMs[at]]).toEqual([throughput, latencyMs])
        at++
      })
    })
  })

  it('rises with the clocks, and a tenant with its share', () => {
    for (const configuration of asked.slice(0, 25)) {
      const clocks = smClocksAt(model.spec, configuration.memClockMhz)!
      let before = model.predict({ ...configuration, smClockMhz: clocks[0]! })
      for (const smClockMhz of clocks.filter((_, i) => i % 6 === 5)) {
        const now = model.predict({ ...configuration, smClockMhz })
        expect(now.powerW).toBeGreaterThan(before.powerW * (1 - 1e-9))
        for (const [i, { throughput }] of now.tenants.entries()) {
          expect(throughput).toBeGreaterThan(before.tenants[i]!.throughput * (1 - 1e-9))
        }
        before = now
      }
      const [tenant, ...others] = configuration.tenants
      const wider = {
        ...configuration,
        tenants: [{ ...tenant!, mpsPercent: Math.min(100, tenant!.mpsPercent + 10) }, ...others],
      }
      if (wider.tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0) > 100) continue
      expect(model.predict(wider).tenants[0]!.throughput).toBeGreaterThan(
        model.predict(configuration).tenants[0]!.throughput * (1 - 1e-9),
      )
    }
  })

  it('finds the highest clock that keeps a cap', () => {
    const random = new SeededRandom(5)
    for (const { tenants, memClockMhz } of asked) {
      const clocks = smClocksAt(model.spec, memClockMhz)!
      const powerAt = (smClockMhz: number) => model.predict({ tenants, memClockMhz, smClockMhz }).powerW
      const capW = powerAt(clocks[0]!) * 0.95 + random.uniform() * (powerAt(clocks.at(-1)!) - 0.9 * powerAt(clocks[0]!))
      const best = clocks.findLast((smClockMhz) => powerAt(smClockMhz) <= capW)
      expect(model.solveSmClock(tenants, memClockMhz, capW)).toBe(best)
      expect(model.solveSmClock(tenants, memClockMhz, powerAt(clocks[7]!))).toBe(clocks[7])
      expect(model.solveSmClock(tenants, memClockMhz, 1)).toBeUndefined()
    }
  })

  it('knows how sure it is', () => {
    for (const configuration of asked.slice(0, 20)) {
      const { throughput, powerW, powerSdW } = model.predict(configuration)
      const { throughput: quantiles, powerW: watts } = model.quantiles(configuration, [0.01, 0.5, 0.99])
      for (const [low, middle, high, said] of [
        [...quantiles, throughput],
        [...watts, powerW],
      ] as number[][]) {
        expect(low).toBeLessThan(middle!)
        expect(middle).toBeLessThan(high!)
        expect(Math.abs(middle! / said! - 1)).toBeLessThan(0.15)
      }
      expect(model.upperPowerW(configuration, 0.01)).toBeCloseTo(watts[2]!, 6)
      expect(Math.log(watts[2]! / watts[0]!) / (powerSdW! / powerW)).toBeCloseTo(2 * 2.3263, 2)
    }
    const usual = model.predict({ ...asked[0]!, tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 32 }] })
    const odd = { ...asked[0]!, tenants: [{ model: 'vgg19', mpsPercent: 1, batchSize: 256 }] }
    expect(model.predict(odd).distance).toBeGreaterThan(usual.distance!)
  })

  it('tells what lies outside of what was measured, and what the board does not have', () => {
    const { memClocksMhz, spec } = model
    const at = (tenants: readonly Tenant[], smClockMhz: number = 1200) =>
      model.domain({ tenants, smClockMhz, memClockMhz: memClocksMhz[0]! })
    expect(at([{ model: 'resnet50', mpsPercent: 50, batchSize: 32 }])).toMatchObject({ inside: true, outside: [] })
    const fields = (domain: ReturnType<typeof at>) => domain.outside.map(({ field }) => field)
    expect(fields(at([{ model: 'nobody', mpsPercent: 50, batchSize: 32 }]))).toEqual(['tenants[0].model'])
    expect(fields(at([{ model: 'resnet50', mpsPercent: 50, batchSize: 1000 }]))).toContain('tenants[0].batchSize')
    expect(fields(at([{ model: 'resnet50', mpsPercent: 50, batchSize: 32 }], 5000))).toContain('smClockMhz')
    const many = Array.from({ length: 10 }, () => ({ model: 'vgg19', mpsPercent: 10, batchSize: 256 }))
    const needed = many.reduce((sum, tenant) => sum + model.memoryBytes(tenant), model.reservedMemoryBytes)
    expect(fields(at(many)).includes('memoryBytes')).toBe(needed > spec.memoryBytes)
  })

  it('refuses what it cannot predict, by name', () => {
    const tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 32 }
    const predict =
      (change: object, ...tenants: object[]) =>
      () =>
        model.predict({
          tenants: (tenants.length > 0 ? tenants : [tenant]) as Tenant[],
          smClockMhz: 1200,
          memClockMhz: model.memClocksMhz[0]!,
          ...change,
        })
    expect(predict({ memClockMhz: 77 })).toThrow(/memClockMhz: got 77/)
    expect(predict({ smClockMhz: 9 })).toThrow(/smClockMhz: got 9/)
    expect(predict({ smClockMhz: 1e4 })).toThrow(/smClockMhz/)
    expect(predict({ tenants: [] })).toThrow(/tenants/)
    expect(predict({}, { ...tenant, model: 'nobody' })).toThrow(/nobody/)
    expect(predict({}, tenant, { ...tenant, mpsPercent: 51 })).toThrow(/mpsPercent/)
    expect(predict({}, { ...tenant, mpsPercent: 0 })).toThrow(/tenants\[0\]\.mpsPercent: got 0/)
    expect(predict({}, { ...tenant, batchSize: 257 })).toThrow(/tenants\[0\]\.batchSize: got 257/)
    expect(predict({}, { ...tenant, batchSize: 1.5 })).toThrow(/batchSize/)
    expect(predict({}, ...Array.from({ length: 49 }, () => ({ ...tenant, mpsPercent: 1 })))).toThrow(/48|49/)
    expect(() => model.solveSmClock([tenant], model.memClocksMhz[0]!, Number.NaN)).toThrow(/powerCapW/)
    expect(() => model.quantiles(asked[0]!, [0])).toThrow(/probabilities\[0\]/)
    expect(() => model.memoryBytes({ ...tenant, batchSize: 0 })).toThrow(/batchSize/)
  })

  it('is what its parameters make it, through a file and back', () => {
    const again = PerfModel.load(JSON.parse(JSON.stringify(model.parameters)))
    for (const configuration of asked.slice(0, 10))
      expect(again.predict(configuration)).toEqual(model.predict(configuration))
    expect(() => PerfModel.load({})).toThrow()
    expect(() => PerfModel.load({ ...(shippedParameters[board] as object), schemaVersion: 1 })).toThrow(
      ParameterVersionError,
    )
    // Nothing that is left out passes for zero.
    const leave = (value: unknown, path: readonly string[]): unknown => {
      const copy = structuredClone(value) as Record<string, unknown>
      const [head, ...rest] = path as [string, ...string[]]
      if (rest.length === 0) delete copy[head]
      else copy[head] = leave(copy[head], rest)
      return copy
    }
    const parameters = JSON.parse(JSON.stringify(model.parameters)) as Record<string, unknown>
    for (const field of Object.keys(parameters))
      expect(() => PerfModel.load(leave(parameters, [field])), field).toThrow(field)
    for (const field of Object.keys(model.parameters.boardParameters)) {
      expect(() => PerfModel.load(leave(parameters, ['boardParameters', field])), field).toThrow(field)
    }
    for (const field of Object.keys(model.parameters.networks[0]!)) {
      expect(() => PerfModel.load(leave(parameters, ['networks', '0', field])), field).toThrow(/networks/)
    }
  })
})

describe('the published predictor', () => {
  it('predicts what its authors published', () => {
    const reference = loadPublishedParameters(referenceFolder('pctodl-params'))
    const rows = goldenRows('pctodl-params/golden_predict.csv').filter((_, i) => i % 4 === 0)
    expect(rows.length).toBeGreaterThan(80)
    for (const row of rows) {
      const mode = row['mode']
      const predictor = reference.predictor({
        model: row['model']!,
        dataset: row['dataset'] || undefined,
        platform: row['platform'] || undefined,
        memFreq: Number(row['mem_freq']),
        oversubscribe: true,
        whenMissing: 'upstream-defaults',
        ensembles: mode === undefined,
        smSystemStage: mode === 'physics_smsys',
      })
      const numbers = (list: string) => list.split(' ').map(Number)
      const said = predictor.predictAll(numbers(row['p_list']!), numbers(row['b_list']!), Number(row['f_mhz']))
      const golden = [row['u_sm'], row['u_mem'], row['throughput'], row['power']].map(Number)
      const found = [said.smUtilPercent, said.memUtilPercent, said.throughput, said.powerW]
      for (const [i, value] of found.entries()) {
        expect(Math.abs(value - golden[i]!)).toBeLessThanOrEqual(1e-9 * Math.max(1e-300, Math.abs(golden[i]!)))
      }
    }
  })
})
