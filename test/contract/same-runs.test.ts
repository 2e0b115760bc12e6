import type { Fault } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import type { Service, Tenant } from '@pctodl/platform'
import { PctodlPolicy, type PctodlPolicyOptions, planWithModel, replayRun } from '@pctodl/scheduler'
import { type ClockMechanism, clockMechanisms } from '@pctodl/thermo-dvfs'
import { describe, expect, it } from 'vitest'
import { kinds as clockKinds, type Kind, live } from './clock-stories.js'
import { type Demand, type PolicyOf, pctodlWith, type Story, steps, type Told, tell, unaccounted } from './harness.js'
import { PolicyBoard } from './policy-board.js'
import { brokenPromises } from './record-promises.js'
import { digest, expectStored, said } from './stored.js'

const WINDOW_MS = 5000
const ti = loadPerfModel('3080Ti')

/** One line for each window: what a reader compares, and a digest of all that was said in it. */
function windowsOf(told: Told): string[] {
  const endMs = told.tenths.at(-1)!.timeMs
  const lines: string[] = []
  for (let fromMs = 0; fromMs < endMs; fromMs += WINDOW_MS) {
    const within = ({ timeMs }: { readonly timeMs: number }) =>
      (timeMs > fromMs || fromMs === 0) && (timeMs <= fromMs + WINDOW_MS || fromMs + WINDOW_MS >= endMs)
    const events = told.events.filter(within)
    const { smClockMhz, powerW, throughput } = told.tenths.filter(within).at(-1)!
    const asked = events.filter(({ type }) => type === 'action').length
    const decided = events.flatMap((event) => (event.type === 'decision' ? [event.decision.kind] : []))
    lines.push(
      [
        `${fromMs / 1000} s: ${smClockMhz} MHz ${powerW.toFixed(1)} W ${throughput.toFixed(0)}/s`,
        `${asked} actions`,
        [...new Set(decided)].join(' ') || '-',
        digest(events),
      ].join(', '),
    )
  }
  return lines
}

/** The record is the one before, breaks no promise, and replays; `otherOf` would have answered in another way. */
async function expectSame(name: string, stories: readonly (readonly [Story, PolicyOf, PolicyOf?])[]): Promise<void> {
  const lines: string[] = []
  for (const [story, policyOf, otherOf] of stories) {
    const told = await tell(story, policyOf)
    expect(brokenPromises(told), story.name).toEqual([])
    expect(unaccounted(told), story.name).toEqual([])
    expect((await told.gpu.info()).powerLimitW).toBe(told.gpu.spec.powerLimitW.default)
    const record = JSON.parse(JSON.stringify(told.events))
    const { differences, ...replayed } = replayRun(record, policyOf(story))
    expect(differences, story.name).toEqual([])
    lines.push(`# ${story.name}`, ...windowsOf(told), `replayed ${said(replayed)}`)
    if (otherOf === undefined) continue
    const other = replayRun(record, otherOf(story)).differences
    lines.push(`replayed by another: ${other.length} differences, ${digest(other)}`)
  }
  await expectStored(name, lines)
}

const during = (fromS: number, toS: number, low: number, high: number) => (timeMs: number) =>
  timeMs > 1000 * fromS && timeMs < 1000 * toS ? high : low
const seconds = (atS: number, forS: number) => ({ atMs: 1000 * atS, durationMs: 1000 * forS })

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 60 },
  weight: 1,
  maxBatchSize: 16,
  maxQueueDelayMs: 2,
}
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', weight: 3 }
const tags: Service = { ...search, name: 'tags', model: 'mnasnet1_0', objective: { p99Ms: 25 } }
const words: Service = { ...search, name: 'words', model: 'densenet201', objective: { p99Ms: 150 }, maxBatchSize: 8 }
const strict: Service = { ...photos, objective: { p99Ms: 12 } }

/** A policy's minutes on a reduced board that errs and fails as a seed draws it. */
function drawn(seed: number): PolicyBoard {
  const random = new SeededRandom(seedFrom('policy', seed))
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const small: Tenant[] = [30, 30, 20].map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize: 8 }))
  const served: Partial<PctodlPolicyOptions> = one([
    { model: 'resnet50' },
    { model: 'densenet201', partition: { latencySloMs: 60, budgetEvaluations: 80 } },
    { models: [{ model: 'resnet50' }, { model: 'vgg19', weight: 3 }] },
    { model: 'resnet50', fixed: { tenants: small, memClockMhz: 9501 } },
  ])
  const policy = new PctodlPolicy({
    predictor: ti,
    partition: { budgetEvaluations: 80 },
    hardwareLimitPercent: one([null, 0, 5]),
    shadow: one([false, { interval: 1 }]),
    payBackS: one([20, 300]),
    powerMarginW: one([0, 6]),
    ...served,
  })
  const powerOf = one([() => 1, () => one([0.8, 1.2]), (count: number) => 0.7 + 0.1 * count])
  let power = powerOf(1)
  let speed = 1
  const board = new PolicyBoard(policy, ti, 150 + random.integer(150), {
    power: ({ tenants }) => (powerOf.length > 0 ? powerOf(tenants.length) : power),
    speed: ({ tenants }) => speed * (1 + 0.04 * Math.sin(tenants.reduce((sum, { batchSize }) => sum + batchSize, 0))),
  })
  for (let part = 0; part < 8; part++) {
    board.run(12 + random.integer(20))
    const what = random.integer(8)
    const here = board.tenants.length
    if (what < 3) board.cap(60 + random.integer(240))
    else if (what === 3 && here > 0) board.kill(random.integer(here))
    else if (what === 4 && here > 0) board.kill(random.integer(here), 'out of memory: 12 of 11 GiB')
    else if (what === 5) board.refuses = !board.refuses
    else if (what === 6) board.loses = !board.loses
    else {
      speed = one([1, 0.93, 0.7])
      power = powerOf(1)
    }
  }
  return board
}

describe('the same decisions as before', () => {
  it('of the clock controller', async () => {
    const line = (kind: Kind, seed: number, ...without: ClockMechanism[]) => {
      const told: unknown[] = []
      const judged = live(kind, seed, without, (action) => told.push(action))
      return `${kind} ${seed} ${without}: ${said(judged, 4)} ${digest(told)}`
    }
    const all = clockKinds.flatMap((kind) => [1, 2, 3].map((seed) => line(kind, seed)))
    const less = clockMechanisms.map((mechanism, i) => line(clockKinds[i]!, 5, mechanism))
    await expectStored('runs-clocks', [...all, ...less])
  })

  it('of policies on drawn boards', async () => {
    const line = (seed: number) => {
      const { asked, decided, windows, startedMs, powerW, smClockMhz } = drawn(seed)
      const kinds = [...new Set(decided.map(({ kind }) => kind))].join(' ')
      return [
        `${seed}: ${asked.length} actions, ${startedMs.length} starts, ${smClockMhz} MHz ${powerW.toFixed(1)} W`,
        kinds,
        digest(asked),
        digest(decided),
        digest(windows),
      ].join(', ')
    }
    await expectStored(
      'runs-decisions',
      Array.from({ length: 24 }, (_, seed) => line(seed)),
    )
  })
})

describe('the same runs as before', () => {
  it('of tenants', async () => {
    const two = [{ model: 'resnet50', weight: 2 }, { model: 'densenet201' }]
    const faults: Fault[] = [
      { kind: 'client-killed', atMs: 14_300, tenant: 0 },
      { kind: 'setter-refused', setter: 'sm-clock', ...seconds(24, 5) },
      { kind: 'telemetry-failing', ...seconds(36, 3) },
      { kind: 'client-hung', tenant: 1, ...seconds(42, 3) },
      { kind: 'thermal-slowdown', ...seconds(52, 3) },
    ]
    const mixed: Story = {
      name: 'a mix, faults',
      board: '3080Ti',
      caps: steps(13, 170, 230, 120, 150, 60),
      seconds: 65,
      faults,
    }
    const options = { models: two, partition: { budgetEvaluations: 150 } }
    const onA100: Story = {
      name: 'another board with a margin for its sensor',
      board: 'A100~v3',
      model: 'vgg19',
      caps: steps(17, 95, 75, 85),
      seconds: 50,
      faults: [
        { kind: 'setter-refused', atMs: 0, setter: 'power-limit', reason: 'not-supported' },
        { kind: 'setter-ignored', setter: 'sm-clock', ...seconds(25, 4) },
        { kind: 'sensor-bias', atMs: 30_000, gainPercent: -9 },
        { kind: 'mps-server-fault', atMs: 39_000, tenant: 0 },
      ],
      run: { sensorTolerancePercent: 4 },
    }
    const searching = { shadow: { interval: 1 }, partition: { budgetEvaluations: 60 } } as const
    await expectSame('runs-tenants', [
      [mixed, pctodlWith(options), pctodlWith({ ...options, hardwareLimitPercent: 6 })],
      [onA100, pctodlWith(searching), pctodlWith({ ...searching, without: ['offset'] })],
    ])
  })

  it('of services', async () => {
    const at = (service: Service, ratePerS: Demand['ratePerS'], expectedPerS?: number): Demand => ({
      service,
      ratePerS,
      ...(expectedPerS === undefined ? {} : { expectedPerS }),
    })
    const plan = planWithModel(ti, { budgetEvaluations: 40, batchSizes: [4, 16], maxInstances: 2 })
    const policy = pctodlWith({}, { plan })
    const changing: Story = {
      name: 'bursts, other terms, who joins and who leaves, faults',
      board: '3080Ti',
      caps: steps(16, 210, 130, 250),
      seconds: 50,
      demands: [
        at(search, during(8, 13, 150, 2600)),
        at(photos, during(22, 27, 250, 3500)),
        at(tags, () => 120),
        at(words, () => 20, 60),
      ],
      present: [
        [0, [search, photos, words]],
        [18, [search, strict, words, tags]],
        [30, [search, photos, tags]],
        [36, [search, photos, tags, words]],
      ],
      faults: [
        { kind: 'client-killed', atMs: 29_000, tenant: 0 },
        { kind: 'setter-refused', setter: 'sm-clock', ...seconds(40, 3) },
        { kind: 'telemetry-failing', ...seconds(44, 2) },
      ],
    }
    const turning: Story = {
      name: 'another mix for good, at the cap, and a cap that lets none run',
      board: '3080Ti',
      caps: [
        { atMs: 0, powerCapW: 300 },
        { atMs: 36_000, powerCapW: 95 },
        { atMs: 42_000, powerCapW: 180 },
      ],
      seconds: 50,
      demands: [at(search, during(8, 99, 100, 1600)), at(photos, during(8, 99, 2600, 100))],
    }
    const still: Story = {
      ...turning,
      name: 'little to do',
      caps: steps(99, 200),
      seconds: 25,
      demands: [at(words, () => 30, 200)],
    }
    await expectSame('runs-services', [
      [changing, policy],
      [turning, policy],
      [still, policy],
    ])
  })
})
