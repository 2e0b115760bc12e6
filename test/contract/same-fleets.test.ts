import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  exampleFolder,
  type Fleet,
  type FleetPlan,
  loadFleet,
  loadObjectives,
  parseProfileCsv,
  planDay,
  planFleet,
  planSegments,
  replanFleet,
  type ServiceObjective,
  scenarioAt,
  serviceLimits,
  simulateFleet,
} from '@pctodl/mig-segments'
import { type MappedBoard, parseFleetMap } from '@pctodl/mig-segments/deploy'
import { SeededRandom } from '@pctodl/numerics'
import { geometryOf, migGeometries } from '@pctodl/platform'
import { replayedTimes } from '@pctodl/traffic'
import { afterAll, describe, expect, it } from 'vitest'
import { digest, expectStored, orError, said } from './stored.js'

const folder = mkdtempSync(path.join(tmpdir(), 'contract-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

type Group = Fleet['groups'][number]
type Options = NonNullable<Parameters<typeof planFleet>[2]>
type Simulation = NonNullable<Parameters<typeof simulateFleet>[2]>

/** One to three groups of boards at one or two clocks, some with limits, and services of which some cannot be kept. */
function drawnFleet(seed: number): { fleet: Fleet; objectives: ServiceObjective[]; random: SeededRandom } {
  const random = new SeededRandom(seed)
  const chance = (share: number) => random.uniform() < share
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const models = ['a', 'b', 'c', 'd'].slice(0, 2 + random.integer(2))
  const speeds = models.map(() => 40 + 200 * random.uniform())
  const keys = Object.keys(migGeometries)
  const groups = Array.from({ length: 1 + random.integer(2) }, (_, g): Group => {
    const gpu = keys.splice(random.integer(keys.length), 1)[0]!
    const clocks = chance(0.5) ? [undefined] : [900 + 15 * random.integer(20), 1500]
    const isFaster = 0.7 + random.uniform()
    const profiles = models.map((model, m) => ({
      model,
      points: clocks.flatMap((smClockMhz) =>
        geometryOf(gpu).profiles.flatMap(({ name, computeSlices, memorySlices }) =>
          [1, 4, 16].flatMap((batchSize) =>
            [1, 2].flatMap((processes) => {
              if (chance(0.3)) return []
              const perS =
                speeds[m]! * isFaster * ((smClockMhz ?? 1500) / 1500) * computeSlices ** 0.9 * batchSize ** 0.2
              const each = chance(0.1) ? 0 : (perS * (1 + 0.1 * memorySlices)) / processes
              const point = { profile: name, batchSize, processes, processThroughput: each }
              const latencyMs = (1000 * batchSize * (0.9 + 0.3 * random.uniform())) / (each || 1)
              const powerW = Math.round(9 + 11 * computeSlices * ((smClockMhz ?? 1500) / 1500) ** 2 + processes)
              return [{ ...point, latencyMs, powerW, ...(smClockMhz !== undefined && { smClockMhz }) }]
            }),
          ),
        ),
      ),
    }))
    const idleW = clocks.length > 1 ? Object.fromEntries(clocks.map((clock) => [clock, 30 + clock! / 50])) : 50 + 5 * g
    const boardsPerNode = one([1, 2, 4, 8])
    return {
      ...{ gpu, profiles, idleW, boardsPerNode },
      ...(chance(0.6) && { price: one([0.5, 1, 2.25]) }),
      ...(chance(0.3) && { boards: 2 + random.integer(4) }),
      ...(chance(0.5) && { boardCapW: one([140, 180, 240]) }),
      ...(chance(0.3) && { nodeCapW: 160 * boardsPerNode }),
    }
  })
  const objectives = models.map((model, m) => ({
    model,
    ratePerS: speeds[m]! * (0.3 + 7 * random.uniform()),
    latencyMs: chance(0.15) ? 0.8 : 60 + 500 * random.uniform(),
  }))
  return { fleet: { groups, ...(chance(0.4) && { powerW: 1200 }) }, objectives, random }
}

/** Instances stand in places that their board has, at most one on each slice. */
function expectLegal(boards: readonly MappedBoard[]): void {
  for (const { gpu, segments } of boards) {
    const geometry = geometryOf(gpu)
    const instances = [...new Map(segments.map(({ start, profile }) => [start, profile]))]
    const slots = instances.map(([start, profile]) => {
      const slot = geometry.profiles.find(({ name }) => name === profile)!
      expect(slot.placements).toContain(start)
      return { ...slot, start }
    })
    const taken = slots.flatMap(({ start, memorySlices }) => Array.from({ length: memorySlices }, (_, i) => start + i))
    expect(new Set(taken).size).toBe(taken.length)
    expect(slots.reduce((sum, { computeSlices }) => sum + computeSlices, 0)).toBeLessThanOrEqual(geometry.computeSlices)
  }
}

/** What any planner must keep: legal places, all rates, all limits, and bounds that are bounds. */
function expectKept(plan: Omit<FleetPlan, 'lowerBoundPowerW' | 'lowerBoundSlices'>, fleet: Fleet): void {
  expectLegal(plan.boards)
  const segments = plan.boards.flatMap((board) => board.segments)
  for (const { model, ratePerS, capacity } of plan.served) {
    const own = segments.filter((segment) => segment.model === model)
    expect(own.reduce((sum, each) => sum + each.ratePerS, 0)).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
    expect(capacity).toBeCloseTo(
      own.reduce((sum, each) => sum + each.throughput, 0),
      6,
    )
  }
  expect(plan.unserved.every(({ model }) => segments.every((segment) => segment.model !== model))).toBe(true)
  expect(plan.cost).toBeGreaterThanOrEqual(plan.lowerBoundCost)
  expect(plan.meanPowerW).toBeLessThanOrEqual(plan.powerW + 1e-6)
  const most = 1 + 1e-9
  expect(plan.powerW).toBeLessThanOrEqual((fleet.powerW ?? Infinity) * most)
  fleet.groups.forEach(({ boards = Infinity, boardsPerNode = 8, boardCapW = Infinity, nodeCapW = Infinity }, g) => {
    const own = plan.boards.filter(({ group }) => group === g)
    expect(own.length).toBeLessThanOrEqual(boards)
    const nodes = new Map<number, number>()
    for (const { node, index, powerW } of own) {
      expect(index).toBeLessThan(boardsPerNode)
      expect(powerW).toBeLessThanOrEqual(boardCapW * most)
      nodes.set(node, (nodes.get(node) ?? 0) + powerW)
    }
    for (const drawnW of nodes.values()) expect(drawnW).toBeLessThanOrEqual(nodeCapW * most)
  })
}

const ways: readonly Options[] = [
  {},
  { latencyShare: 0.7 },
  { gate: 'tail', checkRequests: 0, burstiness: 9, rateError: 0.2, timeError: 0.1 },
  { gate: 'tail', checkRequests: 0, dispatch: 'shared', burstiness: 0.5 },
]

describe('the same maps of drawn fleets as before', () => {
  it('serve what they can, change step by step and keep every limit', async () => {
    const lines: string[] = []
    for (const [i, seed] of [14, 7, 8, 9, 11, 12, 20].entries()) {
      const { fleet, objectives, random } = drawnFleet(seed)
      const options = { maxIterations: 400, ...ways[(i + 2) % ways.length]! }
      const line = await orError(async () => {
        const plan = await planFleet(fleet, objectives, options)
        expectKept(plan, fleet)
        const told = simulateFleet(plan, fleet, { requests: 300, seed, burstiness: 2, perSlot: seed % 3 })
        const shared = simulateFleet(plan, fleet, { requests: 900, dispatch: 'shared', fresh: seed % 2 === 0 })
        // As it runs a while later: a board lost an instance, and another got a batch size that nobody has measured.
        const running = plan.boards.map(({ segments, ...board }, b) => ({
          ...board,
          segments: segments
            .filter((_, i) => b > 0 || i > 0 || segments.length === 1)
            .map((each, i) => (b === 1 && i === 0 ? { ...each, batchSize: 5 } : each)),
        }))
        const next = objectives
          .slice(seed % 4 === 0 ? 1 : 0)
          .map((each) => ({ ...each, ratePerS: each.ratePerS * (0.4 + 1.2 * random.uniform()) }))
        const consolidate = seed % 2 === 0
        const change = await orError(async () => {
          const { dispatch: _, ...split } = options
          const changed = await replanFleet(running, fleet, next, { ...split, consolidate })
          expectKept(changed, fleet)
          const paid = running.reduce((sum, { group }) => sum + (fleet.groups[group]!.price ?? 1), 0)
          const most = consolidate ? changed.freshCost : Math.max(paid, changed.freshCost)
          expect(changed.cost).toBeLessThanOrEqual(most * (1 + 1e-9))
          expect(changed.created + changed.restarted / 2).toBeGreaterThanOrEqual(changed.lowerBoundMoves)
          const steps = changed.steps.map(({ kind, instance: { gpu, node, index, profile, start }, shortfalls }) => {
            return `${kind[0]}${gpu}/${node}/${index} ${profile}@${start}${shortfalls.length > 0 ? '!' : ''}`
          })
          return `${said([changed.cost, changed.freshCost, changed.lowerBoundMoves])} ${steps.length} ${digest([steps, changed])}`
        }, String)
        const { boards, unserved, cost, lowerBoundCost, powerW, lowerBoundPowerW, meanPowerW } = plan
        const why = unserved.map(({ model, reason, keepableMs }) => [model, reason, keepableMs])
        const figures = [boards.length, cost, lowerBoundCost, powerW, lowerBoundPowerW, meanPowerW, why]
        return `${said(figures)} ${digest([plan, told, shared])} -> ${change}`
      }, String)
      lines.push(`${seed} ${line}`)
    }
    await expectStored('fleets-drawn', lines)
  })

  it('follow the rates of a day', async () => {
    const lines: string[] = []
    for (const seed of [31, 34]) {
      const { fleet, objectives, random } = drawnFleet(seed)
      const one = { ...fleet, groups: fleet.groups.slice(0, 1) }
      const periods = Array.from({ length: 4 }, () =>
        objectives
          .filter(() => random.uniform() < 0.9)
          .map((each) => ({ ...each, ratePerS: each.ratePerS * (0.1 + 1.2 * random.uniform()) })),
      )
      const times = {
        periodS: 600,
        migrationS: [0, 20, 300][seed % 3]!,
        parkedW: 10,
        maxLate: [0, 0.001, 0.1][seed % 3]!,
      }
      const gate = seed === 34 ? ({ gate: 'tail', checkRequests: 0 } as const) : {}
      lines.push(
        await orError(
          () => planDay(one, periods, { ...times, maxIterations: 300, ...gate }),
          (day) => {
            expect(day.energyJ).toBeGreaterThanOrEqual(day.lowerBoundJ)
            expect(day.energyJ).toBeLessThanOrEqual(day.staticPlan.energyJ)
            expect(day.lateRequests).toBeLessThanOrEqual(times.maxLate * day.requests + 1e-5)
            day.periods.forEach(({ boards }, h) => {
              expectLegal(boards)
              for (const { model, ratePerS } of periods[h]!) {
                if (day.unserved.some((each) => each.model === model)) continue
                const own = boards.flatMap(({ segments }) => segments.filter((each) => each.model === model))
                expect(own.reduce((sum, each) => sum + each.ratePerS, 0)).toBeGreaterThanOrEqual(ratePerS * (1 - 1e-9))
              }
            })
            const each = day.periods.map(({ steps, lateRequests }) => [steps.length, lateRequests])
            return `${said([day.energyJ, day.lowerBoundJ, day.staticPlan.energyJ, day.blocked, each])} ${digest(day)}`
          },
        ),
      )
    }
    await expectStored('fleets-days', lines)
  })

  it('are planned for boards and models in files, and refused where a number is out of its range', async () => {
    const lines: string[] = []
    const put = (name: string, text: string) => {
      writeFileSync(path.join(folder, name), text)
      return path.join(folder, name)
    }
    const examples = exampleFolder('example-objectives')
    const models = ['densenet201', 'efficientnet_v2_m', 'maxvit_t', 'mnasnet1_0', 'mobilenet_v2', 'resnet50', 'vgg19']
    const rows = loadObjectives(examples, models)
    lines.push(digest(rows))
    const few = scenarioAt(rows, 2)
      .slice(0, 2)
      .map((each) => ({ ...each, ratePerS: 0.1 * each.ratePerS }))
    const fleetYaml = put(
      'fleet.yaml',
      '{ groups: [{ gpu: H100, idleW: 70, boardCapW: 400, price: 3 }, { gpu: A100, idleW: 40 }] }',
    )
    const loaded = loadFleet(fleetYaml, { maxProcesses: 2 })
    const planned = await planFleet(loaded, few, { maxIterations: 100 })
    expectKept(planned, loaded)
    const stands = serviceLimits(planned.served.slice(0, 1), {}, (served, way) =>
      simulateFleet({ boards: planned.boards, served }, loaded, { ...way, requests: 500 }),
    )
    lines.push(`${said([planned.cost, stands])} ${digest([loaded, planned])}`)

    const { fleet, objectives } = drawnFleet(2)
    const [group] = fleet.groups as [Group]
    const [profile] = group.profiles as [Group['profiles'][number]]
    const of = (more: Partial<Group>, powerW?: number): Fleet => ({
      groups: [{ gpu: group.gpu, profiles: group.profiles, idleW: group.idleW!, ...more }],
      ...(powerW !== undefined && { powerW }),
    })
    const points = (more: object) =>
      of({ profiles: [{ model: 'a', points: [{ ...profile.points[0]!, ...more }, ...profile.points.slice(1)] }] })
    const fleets: Readonly<Record<string, readonly unknown[]>> = {
      boards: [0, 1.5, Infinity],
      price: [0, -1, Infinity, 1e-3],
      boardsPerNode: [0, 1, 2.5],
      idleW: [-1, 0, Infinity, {}, { 900: 50 }],
      boardCapW: [0, 50, 1000],
      nodeCapW: [0, 50, 1000],
      coRunners: [[{ profile: '9g', source: {} }], [{ profile: '1g.10gb', source: {}, maxMembers: 5 }]],
      profiles: [[profile, profile], []],
      gpu: ['V100', 'nothing', 'A30'],
    }
    const made: (readonly [string, Fleet, Options?])[] = [
      ...Object.entries(fleets).flatMap(([key, values]) =>
        values.map((value) => [`${key}: ${said(value).slice(0, 60)}`, of({ [key]: value })] as const),
      ),
      ...[0, -1, 60, Infinity].map((watts) => [`powerW: ${watts}`, of({}, watts)] as const),
      ...[
        ...[{ batchSize: 0 }, { batchSize: 65_536 }, { batchSize: 65_537 }, { processes: 0 }, { processes: 60 }],
        ...[{ processes: 16 }, { processThroughput: -1 }, { processThroughput: 0 }, { latencyMs: 0 }, { powerW: -1 }],
        ...[{ powerW: 0 }, { profile: '5g' }, { smClockMhz: 77 }, { powerW: undefined }, { latencyMs: Infinity }],
      ].map((more) => [`point ${said(more)}`, points(more)] as const),
      ['dear', { groups: [...of({}).groups, { ...of({}).groups[0]!, price: 1e6 }] }],
      ['too dear', { groups: [...of({}).groups, { ...of({}).groups[0]!, price: 1.1e6 }] }],
      ['none', { groups: [] }],
      ...[
        ...[{ latencyShare: 0 }, { latencyShare: 1 }, { latencyShare: 1.1 }, { maxIterations: 0 }, { rateError: -0.1 }],
        ...[{ rateError: 1.1 }, { timeError: 1.1 }, { burstiness: 0.09 }, { burstiness: 101 }, { checkRequests: -1 }],
        ...[{ checkRequests: 1e8 }, { gate: 'best' }, { dispatch: 'none' }, { checkRequests: 0.5 }],
      ].map((more) => [said(more), of({}), more as Options] as const),
    ]
    const own = objectives.slice(0, 1)
    const brief = (plan: FleetPlan) => `${plan.boards.length} ${digest(plan)}`
    for (const [what, each, options] of made) {
      const quick = { maxIterations: 100, ...options }
      lines.push(`${what}: ${await orError(() => planFleet(each, own, quick), brief)}`)
    }
    for (const more of [
      { ratePerS: 0 },
      { ratePerS: 1e9 },
      { latencyMs: -1 },
      { latencyMs: Infinity },
      { model: 'x' },
    ]) {
      lines.push(`${said(more)}: ${await orError(() => planFleet(of({}), [{ ...own[0]!, ...more }]), brief)}`)
    }
    lines.push(await orError(() => planFleet(of({}), [...own, ...own]), brief))
    const plan = await planFleet(of({}), own)
    for (const more of [
      ...[{ requests: 0 }, { requests: 1e7 + 1 }, { perSlot: -1 }, { seed: -1 }, { seed: 2 ** 32 }, { dispatch: 'x' }],
    ]) {
      lines.push(`${said(more)}: ${await orError(() => simulateFleet(plan, of({}), more as Simulation), said)}`)
    }
    // Recorded requests end; what waits then is still answered.
    for (const [count, requests, fresh] of [
      [40, 60, true],
      [400, 20, false],
      [40, 20, true],
      [9, 20, false],
    ] as const) {
      const timesMs = Array.from({ length: count }, (_, i) => Math.floor(i / 10) * 20)
      const how: Simulation = { dispatch: 'shared', requests, fresh, arrivals: () => replayedTimes(timesMs) }
      lines.push(await orError(() => simulateFleet(plan, of({}), how), said))
    }
    const board: MappedBoard = plan.boards[0]!
    const segment = board.segments[0]!
    const maps: readonly (readonly object[])[] = [
      [{ gpu: 'T4' }],
      [{ node: -1 }],
      [{ index: 8 }],
      [{ index: 7 }],
      [{}, {}],
      [{ segments: [segment, segment] }],
      [{ segments: [segment, { ...segment, model: 'other' }] }],
      [{ segments: [{ ...segment, start: 6, profile: geometryOf(board.gpu).profiles.at(-1)!.name }] }],
      [{ segments: [{ ...segment, profile: '5g' }] }],
      [{ smClockMhz: 5 }],
      [],
    ]
    for (const changes of maps) {
      const map = changes.map((change) => ({ ...board, ...change }))
      const line = await orError(
        () => replanFleet(map, of({}), own, { maxIterations: 200 }),
        (next) => `${next.created} ${next.restarted} ${next.removed} ${next.kept} ${digest(next)}`,
      )
      lines.push(`${said(changes).slice(0, 60)}: ${line}`)
    }
    lines.push(await orError(() => replanFleet([], of({}), own, { dispatch: 'shared' }), digest))
    const twice = { groups: [...of({}).groups, ...of({}).groups] }
    lines.push(
      await orError(() => replanFleet([], twice, own), digest),
      await orError(() => planFleet(twice, own), brief),
    )
    const day = { periodS: 600, migrationS: 60, parkedW: 10, maxIterations: 100 }
    for (const more of [
      ...[{ periodS: 0 }, { migrationS: -1 }, { migrationS: 600 }, { migrationS: 601 }, { parkedW: -1 }],
      ...[{ parkedW: 1000 }, { maxLate: 0.11 }, { maxLate: 0.1 }, { dispatch: 'shared' as const }],
    ]) {
      lines.push(`${said(more)}: ${await orError(() => planDay(of({}), [own, own], { ...day, ...more }), digest)}`)
    }
    const later = own.map((each) => ({ ...each, latencyMs: 2 * each.latencyMs }))
    lines.push(await orError(() => planDay(of({}), [own, later], day), digest))
    lines.push(await orError(() => planDay(of({}), [], day), digest))
    lines.push(await orError(() => planDay(twice, [own], day), digest))
    const sized = [{ model: 'a', points: [{ ...profile.points[0]!, profile: undefined, sizeGpcs: 1 as const }] }]
    for (const more of [{ maxGpus: 0 }, { powerCap: { boardW: 60, idleW: 60 } }, { gpu: 'A30' }, { gpu: 'H200' }]) {
      lines.push(`${said(more)}: ${await orError(() => planSegments(sized as never, own, more), digest)}`)
    }

    // Files: what of them is read, or which cell is wrong.
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency,Power,Clock'
    for (const text of [
      ...['', 'a,b\n', '1,2,3,4,5\n', `${header}\n`, `${header}\n1,8,1,9,.05,20,900\n`, `${header}\n1,8,1,0,0,x,900\n`],
      ...['5,8,1,9,.05,20,900', '1,0,1,9,.05,20,900', '1,8,0,9,.05,20,900', '1,8,1,-1,.05,20,900', '1,8,1,9,0,20,900'],
      ...[
        '1,8,1,9,.05,-1,900',
        '1,8,1,9,.05,0,0',
        '1,8,4,9,.05,20,900',
        '1,8,1,9,.05',
        '1,8,1,0x1,1,1,1',
        '1,8,49,1,1,1,1',
      ],
      ...['1,8,1,9,1,1,1\n1,8,1,9,1,1,1', '1,8,1,9,1,1,1\n1,8,1,9,1,1,2', '"1,8', '1g.10gb,8,1,9,.05,20,900'],
    ]) {
      const whole = /^[\d"].*/.test(text) && text !== '1,2,3,4,5\n' ? `${header}\n${text}\n` : text
      for (const options of [{}, { geometry: geometryOf('A100-80GB'), maxProcesses: 4 }]) {
        lines.push(await orError(() => parseProfileCsv(whole, 'net', 'net.csv', options), digest))
      }
    }
    const asked = (rates: string, latencies: string) => {
      put('SLO_req_rate.csv', rates)
      put('SLO_latency.csv', latencies)
      return orError(
        () => loadObjectives(folder, ['a', 'b', 'c']),
        (found) => said(found),
      )
    }
    for (const [rates, latencies] of [
      ['1,2,3\n4,N/A,0\n', '10,20,30\n40,50,n/a\n'],
      ['b,a\n1,2\n', 'a,c,b\n10,,30\n'],
      ['1,2\n', '1,2,3\n'],
      ['1,2,3\n', '1,2,3\n1,2,3\n'],
      ['a,x\n1,2\n', '1,2,3\n'],
      ['a,a\n1,2\n', '1,2,3\n'],
      ['1,2,-3\n', '1,2,3\n'],
      ['', '1,2,3\n'],
    ] as const)
      lines.push((await asked(rates, latencies)).replaceAll(folder, '<folder>'))
    const mapHeader = 'Board,Node,GPU,Profile,Placement,Model,Batch size,Num proc,Clock'
    for (const text of [
      ...[
        'A30,0,0,2g.12gb,2,net,1,1,900\nA30,0,0,1g.6gb,0,net,1,1,900',
        'A30,0,0,4g.24gb,0,net,1,1,',
        'T4,0,0,1g,0,net,1,1,',
      ],
      ...[
        'H100,0,0,3g.40gb,0,net,1,1,900\nH100,0,0,3g.40gb,4,net,1,1,905',
        'H100,0,-1,3g.40gb,0,net,1,1,',
        'H100,0,0,3g.40gb,0,,1,1,',
      ],
      ...[
        'H100,0,0,3g.40gb,0,net,1,1,\nH100,0,0,3g.40gb,0,net,1,1,',
        'H100,0,0,3g.40gb,0,net,1,1,\nH100,0,0,4g.40gb,0,b,1,1,',
      ],
      ...[
        'H100,0,0,4g.40gb,0,net,1,1,\nH100,0,0,4g.40gb,4,b,1,1,',
        'H100,0,0,3g.40gb,0,net,0,1,',
        'H100,0,0,3g.40gb,0,net,1,49,',
      ],
    ]) {
      lines.push(await orError(() => parseFleetMap(`${mapHeader}\n${text}\n`, 'fleet.csv'), said))
    }
    for (const text of [
      ...[
        'groups: [{ gpu: B200 }]',
        'groups: [{ gpu: A100, maxMembers: 2 }]',
        'groups: [{ gpu: H100, coRunners: ./none }]',
      ],
      ...[
        'groups: [{ gpu: A100, coRunnerLevel: 1 }]',
        'groups: [{ gpu: A100, idleW: { x: 1 } }]',
        'powerW: 0\ngroups: [{ gpu: A100 }]',
      ],
      ...[
        'groups: [{ gpu: A100, idleW: { 900: 40 }, boardCapW: 300, price: 2, boards: 3, boardsPerNode: 4, nodeCapW: 900 }]',
      ],
    ]) {
      const line = await orError(() => loadFleet(put('fleet.yaml', text)), digest)
      lines.push(line.replaceAll(folder, '<folder>'))
    }
    await expectStored('fleets-refused', lines)
  })
})
