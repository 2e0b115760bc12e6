import { median, SeededRandom, seedFrom } from '@pctodl/numerics'
import { type Configuration, smClocksAt, type TraceRow } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { longTests } from '../../../test/long-tests.js'
import { addNetwork, loadPerfModel, PerfModel, refit } from '../src/index.js'
import { networkWorks } from './network-works.js'

const boards = ['A100', '3080Ti'] as const

const withouts = new Map<string, ReturnType<typeof makeWithout>>()

/** The same object each time, so that the work law of a model's networks is fitted only once. */
function without(board: string, name: string) {
  const key = `${board} ${name}`
  const found = withouts.get(key) ?? makeWithout(board, name)
  withouts.set(key, found)
  return found
}

/** The shipped model of a board without one of its networks, and the works of the others. */
function makeWithout(board: string, name: string) {
  const { parameters, spec } = loadPerfModel(board)
  const keep = <T extends { name: string }>(list: readonly T[]) => list.filter((entry) => entry.name !== name)
  const profile = { ...parameters.profile, networks: keep(parameters.profile.networks) }
  const model = new PerfModel({ ...parameters, networks: keep(parameters.networks), profile }, spec)
  const known = Object.fromEntries(Object.entries(networkWorks).filter(([other]) => other !== name))
  return { model, known, work: networkWorks[name]! }
}

/** Random tenants of one network. */
function configurations(model: PerfModel, name: string, count: number, seed: string): Configuration[] {
  const random = new SeededRandom(seedFrom(seed, name))
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  return Array.from({ length: count }, () => {
    const memClockMhz = pick(model.memClocksMhz)
    const size = pick([1, 1, 2, 3, 5])
    const tenants = Array.from({ length: size }, () => ({
      model: name,
      mpsPercent: Math.floor((100 / size) * (0.3 + 0.7 * random.uniform())),
      batchSize: pick([1, 2, 4, 8, 16, 32, 64, 128]),
    }))
    return { tenants, smClockMhz: pick(smClocksAt(model.spec, memClockMhz)!), memClockMhz }
  })
}

/** Rows with the values that the whole model predicts. */
function rowsOf(whole: PerfModel, list: readonly Configuration[]): TraceRow[] {
  return list.map(({ tenants, smClockMhz, memClockMhz }) => {
    const { throughput, powerW, tenants: each } = whole.predict({ tenants, smClockMhz, memClockMhz })
    return {
      tenants,
      targetSmClockMhz: smClockMhz,
      memClockMhz,
      smClockMhz,
      smUtilPercent: 0,
      memUtilPercent: 0,
      throughput,
      powerAverageW: powerW,
      powerMaxW: powerW,
      tenantThroughput: each.map((tenant) => tenant.throughput),
      tenantLatencyMs: each.map((tenant) => tenant.latencyMs),
      memoryUsedBytes: null,
      failed: false,
    }
  })
}

/** Median relative errors of throughput and power compared with the whole model. */
function errors(model: PerfModel, whole: PerfModel, list: readonly Configuration[]) {
  const each = list.map((configuration) => {
    const [ours, theirs] = [model.predict(configuration), whole.predict(configuration)]
    return [Math.abs(Math.log(ours.throughput / theirs.throughput)), Math.abs(Math.log(ours.powerW / theirs.powerW))]
  })
  return { throughput: median(each.map(([t]) => t!)), power: median(each.map(([, p]) => p!)) }
}

/** Each network on one of the boards; in the long tests, on both. */
function ofBoard(board: (typeof boards)[number], networks: readonly string[]): readonly string[] {
  return networks.filter((_, i) => longTests || i % boards.length === boards.indexOf(board))
}

describe.each(boards)('a network that the model of the %s was not fitted to', (board) => {
  const whole = loadPerfModel(board)

  it.each(ofBoard(board, ['mnasnet1_0', 'resnet50', 'efficientnet_v2_m']))(
    'is predicted from its graph: %s',
    (name) => {
      const { model, known, work } = without(board, name)
      const added = addNetwork(model, name, work, { known })
      const error = errors(added, whole, configurations(whole, name, 200, 'judged'))
      expect(error.throughput).toBeLessThan(0.2)
      expect(error.power).toBeLessThan(0.05)
    },
  )

  it.each(ofBoard(board, Object.keys(networkWorks)))('is predicted well with ten rows: %s', (name) => {
    const { model, known, work } = without(board, name)
    const rows = rowsOf(whole, configurations(whole, name, 10, 'measured'))
    const judged = configurations(whole, name, 200, 'judged')
    const added = addNetwork(model, name, work, { known, rows })
    const error = errors(added, whole, judged)
    expect(error.throughput).toBeLessThan(0.04)
    expect(error.power).toBeLessThan(0.02)
    const within = judged.filter((configuration) => {
      const { throughput, throughputSd } = added.predict(configuration)
      return Math.abs(throughput - whole.predict(configuration).throughput) <= 2 * throughputSd!
    })
    expect(within.length / judged.length).toBeGreaterThan(0.85)
  })
})

describe('adding a network', () => {
  const { model, known, work } = without('A100', 'resnet50')
  const whole = loadPerfModel('A100')
  const measured = configurations(whole, 'resnet50', 10, 'measured')
  const one = { tenants: [{ model: 'resnet50', mpsPercent: 40, batchSize: 16 }], smClockMhz: 1110, memClockMhz: 1215 }

  it('leaves the model given as it is, and what is predicted of the others', () => {
    const before = JSON.stringify(model.parameters)
    const added = addNetwork(model, 'resnet50', work, { known, rows: rowsOf(whole, measured) })
    expect(JSON.stringify(model.parameters)).toBe(before)
    expect(added.networks).toEqual([...model.networks, 'resnet50'])
    const others = { ...one, tenants: [{ ...one.tenants[0]!, model: 'vgg19' }] }
    expect(added.predict(others)).toEqual(model.predict(others))
  })

  it('says how little it knows: much less from the graph alone', () => {
    const graph = addNetwork(model, 'resnet50', work, { known })
    const rows = rowsOf(whole, measured)
    const ten = addNetwork(model, 'resnet50', work, { known, rows })
    const sd = (of: PerfModel) => of.predict(one).throughputSd! / of.predict(one).throughput
    expect(sd(graph)).toBeGreaterThan(0.1)
    expect(sd(ten)).toBeLessThan(0.5 * sd(graph))
    expect(sd(ten)).toBeGreaterThan(sd(whole))
    expect(graph.domain(one).inside).toBe(false)
    expect(ten.domain(one).inside).toBe(true)
  })

  it('learns from rows in which it runs beside networks that are known, and moves only itself', () => {
    const mixed = measured.map((configuration) => ({
      ...configuration,
      tenants: [
        { model: 'vgg19', mpsPercent: 30, batchSize: 8 },
        { model: 'resnet50', mpsPercent: 60, batchSize: configuration.tenants[0]!.batchSize },
      ],
    }))
    const rows = rowsOf(whole, mixed)
    const added = addNetwork(model, 'resnet50', work, { known, rows })
    const graph = addNetwork(model, 'resnet50', work, { known })
    const judged = configurations(whole, 'resnet50', 100, 'judged')
    expect(errors(added, whole, judged).throughput).toBeLessThan(0.6 * errors(graph, whole, judged).throughput)
    const of = (name: string, from: PerfModel) => from.parameters.networks.find((network) => network.name === name)
    expect(of('vgg19', added)).toEqual(of('vgg19', model))
  })

  it('is the less certain, the more of its graph is unknown, until rows tell', () => {
    const sdOf = (unknownShare: number, rows: TraceRow[] = []) =>
      addNetwork(model, 'resnet50', { ...work, unknownShare }, { known, rows }).predict(one).powerSdW!
    expect(sdOf(0.4)).toBeGreaterThan(1.5 * sdOf(0))
    expect(sdOf(0.4, rowsOf(whole, measured))).toBe(sdOf(0, rowsOf(whole, measured)))
  })

  it('is kept in the parameters, and refits go on from there', () => {
    const rows = rowsOf(whole, measured)
    const added = addNetwork(model, 'resnet50', work, { known, rows: rows.slice(0, 3) })
    const again = PerfModel.load(JSON.parse(JSON.stringify(added.parameters)))
    expect(again.predict(one)).toEqual(added.predict(one))
    const judged = configurations(whole, 'resnet50', 100, 'judged')
    // The truth here is the board of the equations, from which boards of the kind differ to one side.
    const even = again.parameters.errors.map((state) => ({ ...state, mean: [] }))
    const learnt = refit(new PerfModel({ ...again.parameters, errors: even }), rows.slice(3))
    expect(errors(learnt, whole, judged).throughput).toBeLessThan(errors(again, whole, judged).throughput)
  })

  it.each<[string, () => unknown, RegExp]>([
    ['a name that the model knows', () => addNetwork(model, 'vgg19', work, { known }), /^name: got 'vgg19'.*refit/],
    ['no name', () => addNetwork(model, ' ', work, { known }), /^name: /],
    [
      'a work without a field',
      () => addNetwork(model, 'x', { ...work, kernels: Number.NaN }, { known }),
      /^work\.kernels: got NaN/,
    ],
    [
      'a graph that hides most of its work',
      () => addNetwork(model, 'x', { ...work, unknownShare: 0.6 }, { known }),
      /^work\.unknownShare: got 0\.6, expected at most 0\.5, or measured rows/,
    ],
    ['no work', () => addNetwork(model, 'x', undefined as never, { known }), /^work: .*networkWork/],
    [
      'a network without kernels',
      () => addNetwork(model, 'x', { ...work, kernels: 0 }, { known }),
      /^work\.kernels: got 0, expected a positive number/,
    ],
    [
      'work that no board can do',
      () => addNetwork(model, 'x', { ...work, denseGflops: 1e6 }, { known }),
      /^work: got .*computePerSample/,
    ],
    [
      'a row without an end',
      () =>
        addNetwork(model, 'resnet50', work, {
          known,
          rows: rowsOf(whole, measured).map((row, i) => (i === 3 ? { ...row, powerAverageW: Infinity } : row)),
        }),
      /^rows\[3\]\.powerAverageW: got Infinity/,
    ],
    [
      'two known networks',
      () => addNetwork(model, 'x', work, { known: { vgg19: known['vgg19']!, maxvit_t: known['maxvit_t']! } }),
      /^known: .*at least 3/,
    ],
    [
      'a known network that it does not know',
      () => addNetwork(model, 'x', work, { known: { ...known, alexnet: work } }),
      /alexnet/,
    ],
    [
      'rows without it',
      () =>
        addNetwork(model, 'x', work, {
          known,
          rows: rowsOf(whole, measured).map((row) => ({
            ...row,
            tenants: [{ model: 'vgg19', mpsPercent: 50, batchSize: 4 }],
          })),
        }),
      /^rows: .*tenant of x/,
    ],
    ['an option that there is not', () => addNetwork(model, 'x', work, { known, row: [] } as never), /row/],
  ])('refuses %s', (_, call, message) => {
    expect(call).toThrow(message)
  })
})
