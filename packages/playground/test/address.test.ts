import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeOf, roomNames, writePlace } from '../site/address/place.js'
import { firstSubject } from '../site/learn/story.js'
import { firstPlan, type PlanQuestion } from '../site/plan/plan-question.js'
import { firstServicesQuestion, goals, type ServicesQuestion } from '../site/plan-services/services-question.js'
import { disturbanceKinds, firstRun, policyNames, type RunQuestion } from '../site/run/run-question.js'
import {
  firstServicesRun,
  type ServicesRunQuestion,
  servicePolicyNames,
} from '../site/run-services/services-run-question.js'
import { type AskedService, LONGEST_NAME, MAX_SERVICES } from '../site/services/asked-service.js'

const firstPlace: ReturnType<typeof placeOf> = {
  room: 'run/services',
  problems: [],
  plan: firstPlan,
  'plan/services': firstServicesQuestion,
  run: firstRun,
  'run/services': firstServicesRun,
  learn: firstSubject,
}

const positive = fc.double({ min: 0.001, max: 1e6, noNaN: true })
const question: fc.Arbitrary<PlanQuestion> = fc.record({
  board: fc.constantFrom('3080Ti', 'A100', 'my board & fit.json'),
  networks: fc.uniqueArray(
    fc.record({ model: fc.constantFrom('resnet50', 'vgg19', 'maxvit_t', 'my_net-2'), weight: positive }),
    { minLength: 1, selector: ({ model }) => model },
  ),
  powerCapW: positive,
  powerMarginW: fc.oneof(fc.constant(0), positive),
  sharePercentStep: fc.integer({ min: 1, max: 100 }),
  latencySloMs: fc.option(positive),
  latencyPercentile: fc.constantFrom('mean', 'p99'),
  risk: fc.oneof(fc.constant('mean' as const), fc.double({ min: 1e-9, max: 0.5, noNaN: true })),
  maxTenants: fc.option(fc.integer({ min: 1, max: 48 })),
  memClockMhz: fc.option(positive),
})

const run: fc.Arbitrary<RunQuestion> = fc.record({
  board: fc.constantFrom('3080Ti', 'A100'),
  model: fc.constantFrom('resnet50', 'vgg19'),
  caps: fc
    .uniqueArray(fc.record({ powerCapW: positive, atS: positive }), { selector: ({ atS }) => atS })
    .map((caps) => [{ powerCapW: 200, atS: 0 }, ...caps.sort((a, b) => a.atS - b.atS)]),
  policies: fc
    .subarray([...policyNames], { minLength: 1 })
    .map((names) => policyNames.filter((name) => names.includes(name))),
  seed: fc.nat(),
  durationS: fc.integer({ min: 1, max: 720 }).map((windows) => windows * 5),
  disturbances: fc.array(fc.record({ kind: fc.constantFrom(...disturbanceKinds), atS: positive })),
})

const services: fc.Arbitrary<readonly AskedService[]> = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, maxLength: LONGEST_NAME, unit: 'grapheme-ascii' }),
    model: fc.constantFrom('resnet50', 'my,net:2%41'),
    ratePerS: fc.oneof(fc.constant(0), positive),
    p99Ms: positive,
    weight: positive,
    maxBatchSize: fc.integer({ min: 1, max: 512 }),
    maxQueueDelayMs: fc.oneof(fc.constant(0), positive),
  }),
  { minLength: 1, maxLength: MAX_SERVICES, selector: ({ name }) => name },
)

const servicesQuestion: fc.Arbitrary<ServicesQuestion> = fc.record({
  board: fc.constantFrom('3080Ti', 'my board & fit.json'),
  services,
  powerCapW: positive,
  objective: fc.constantFrom(...goals),
  powerMarginW: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e4, noNaN: true })),
  rateMargin: fc.double({ min: 1, max: 10, noNaN: true }),
  latencyMargin: fc.double({ min: 0, max: 0.9, noNaN: true }),
  burstiness: fc.double({ min: 1, max: 1000, noNaN: true }),
  sharePercentStep: fc.integer({ min: 1, max: 100 }),
  maxTenants: fc.option(fc.integer({ min: 1, max: 48 })),
  memClockMhz: fc.option(positive),
})

const capsFrom0 = fc
  .uniqueArray(fc.record({ powerCapW: positive, atS: positive }), { selector: ({ atS }) => atS })
  .map((caps) => [{ powerCapW: 200, atS: 0 }, ...caps.sort((a, b) => a.atS - b.atS)])

const common = {
  board: fc.constantFrom('3080Ti', 'A100'),
  caps: fc.option(capsFrom0),
  policies: fc
    .subarray([...servicePolicyNames], { minLength: 1 })
    .map((names) => servicePolicyNames.filter((name) => names.includes(name))),
  loadFactor: fc.double({ min: 0.001, max: 100, noNaN: true }),
  seed: fc.nat(),
  disturbances: fc.array(fc.record({ kind: fc.constantFrom(...disturbanceKinds), atS: positive })),
  bursts: fc.array(positive),
}
const { services: usualServices, burstiness, durationS } = firstServicesRun
const servicesRun: fc.Arbitrary<ServicesRunQuestion> = fc.oneof(
  fc.record({
    ...common,
    task: fc.constantFrom('trio', 'bursts'),
    services: fc.constant(usualServices),
    burstiness: fc.constant(burstiness),
    durationS: fc.constant(durationS),
  }),
  fc.record({
    ...common,
    task: fc.constant(null),
    services,
    burstiness: fc.double({ min: 0.01, max: 100, noNaN: true }),
    durationS: fc.integer({ min: 1, max: 720 }).map((windows) => windows * 5),
  }),
)

describe('the address of services', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(servicesQuestion, (asked) => {
        const place = placeOf(writePlace({ ...firstPlace, room: 'plan/services', 'plan/services': asked }))
        expect(place).toEqual({ ...firstPlace, room: 'plan/services', 'plan/services': asked })
      }),
    )
    fc.assert(
      fc.property(servicesRun, (asked) => {
        const place = placeOf(writePlace({ ...firstPlace, room: 'run/services', 'run/services': asked }))
        expect(place).toEqual({ ...firstPlace, room: 'run/services', 'run/services': asked })
      }),
    )
  })

  it('reads well', () => {
    expect(writePlace({ ...firstPlace, room: 'plan/services' })).toBe(
      '#/plan/services?gpu=3080Ti&services=search:resnet50:400:40,photos:mobilenet_v2:300:60,ads:vgg19:60:100:3:64:0&cap=250',
    )
    expect(writePlace({ ...firstPlace, room: 'run/services' })).toBe(
      '#/run/services?gpu=3080Ti&task=bursts&policies=pctodl,equal-shares',
    )
  })

  it('takes whatever somebody typed', () => {
    const many = Array.from({ length: 1000 }, (_, i) => `s${i}:resnet50:1:1`).join(',')
    for (const services of [
      '',
      ':::',
      'a:resnet50:1',
      'a:resnet50:-1:5',
      'a:b:1:1,a:b:1:1',
      'a:b:x:1',
      many,
      '%:%:%:%',
    ]) {
      const words = new URLSearchParams({ services, cap: '-1', objective: 'best', 'rate-margin': '0', step: '1.5' })
      expect(placeOf(`#/plan/services?${words}`)['plan/services']).toEqual(firstServicesQuestion)
    }
    fc.assert(
      fc.property(fc.constantFrom('plan/services', 'run/services'), fc.string(), fc.string(), (room, word, value) => {
        const place = placeOf(`#/${room}?${new URLSearchParams({ [word]: value, services: value, events: value })}`)
        expect(placeOf(writePlace(place))).toEqual({ ...place, problems: [] })
      }),
    )
  })
})

describe('the address of a run', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(run, (asked) => {
        const place = { ...firstPlace, room: 'run' as const, run: asked }
        expect(placeOf(writePlace(place))).toEqual(place)
      }),
    )
  })

  it('takes whatever somebody typed', () => {
    for (const words of [
      '',
      'caps=0',
      'caps=100@5',
      'caps=1,2@9,3@4',
      'policies=no',
      'seed=x&seconds=-4&events=no@3,kill@-1',
    ]) {
      expect(placeOf(`#/run?${words}`).run).toEqual(firstRun)
    }
  })
})

describe('the address of a plan', () => {
  it('holds all that was asked', () => {
    fc.assert(
      fc.property(question, (plan) => {
        expect(placeOf(writePlace({ ...firstPlace, room: 'plan', plan }))).toEqual({
          ...firstPlace,
          room: 'plan',
          plan,
        })
      }),
    )
  })

  it('reads well', () => {
    expect(writePlace({ ...firstPlace, room: 'plan', plan: { ...firstPlan, latencySloMs: 400 } })).toBe(
      '#/plan?gpu=3080Ti&model=resnet50&cap=200&latency=400',
    )
  })

  it('takes whatever somebody typed', () => {
    for (const hash of [
      '',
      '#',
      '#/',
      '#/nowhere',
      '#/plan?cap=-3&risk=2&tenants=x&model=,,:&step=0&latency=&memory=NaN',
    ]) {
      expect(placeOf(hash).plan).toEqual(firstPlan)
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        placeOf(text)
      }),
    )
  })
})

/** For each room, what each of its words refuses. */
const malformed: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  plan: {
    gpu: ['', ' ', 'x'.repeat(201)],
    model: ['', ',', 'resnet50,', 'resnet50:0', 'resnet50:-1', 'resnet50:x', 'resnet50:1:2', 'vgg19,vgg19'],
    cap: ['', '-5', '0', 'NaN', 'Infinity', '1e308', '9'.repeat(400), '0x10', '200W', '1,000', 'null'],
    margin: ['-1', 'x', '1e9'],
    step: ['0', '101', '2.5', '-5'],
    latency: ['', '0', '-3', 'fast'],
    percentile: ['p50', 'P99', ''],
    risk: ['0', '0.6', '-0.1', 'none'],
    tenants: ['0', '49', '1.5', 'x'],
    memory: ['NaN', '-1', ''],
    cpa: ['200'],
  },
  'plan/services': {
    services: [
      '',
      ':::',
      'a:resnet50:1',
      'a:resnet50:-1:5',
      'a:b:1:1,a:b:1:1',
      'a:b:x:1',
      '%:%:%:%',
      'a:b:1:1:1:1:1:1',
      // Each number just outside of its range.
      ...['1000001:1', '1:0', '1:1000001', '1:1:0:1:0', '1:1:1e13:1:0', '1:1:1:0:0', '1:1:1:1:1000001'].map(
        (all) => `a:b:${all}`,
      ),
    ],
    cap: ['-5', '1e7'],
    objective: ['best', 'MIN-POWER'],
    margin: ['-1', '10001'],
    'rate-margin': ['0', '11'],
    'latency-margin': ['-0.1', '1'],
    burstiness: ['0.5', '1001'],
    step: ['1.5'],
    tenants: ['0', '49'],
    memory: ['0'],
    policies: ['pctodl'],
  },
  run: {
    gpu: ['', 'nothing'],
    model: ['', 'nothing'],
    caps: ['', '0', '-5', '100@5', '1,2@9,3@4', '200@', '200,150@x', '200,100@1e300', '1@0,2@0'],
    policies: ['foo', 'pctodl,foo', 'pctodl,pctodl', ''],
    seed: ['-1', '1.5', 'x', '1e30'],
    seconds: ['-4', '0', '3601', '1e9', '2.5'],
    events: ['no@3', 'kill@-1', 'kill@x', 'kill@1@2', 'burst@3', 'kill,'.repeat(300)],
    board: ['', 'A100'],
  },
  'run/services': {
    gpu: ['nothing'],
    task: ['', ' ', 'nothing'],
    caps: ['200@3', 'x'],
    policies: ['powercap', 'fixed-clock'],
    load: ['0', '101', 'x'],
    seed: ['-1'],
    events: ['burst@', 'burst@x', 'no@1', '@3'],
    // A task has its own services, burstiness and length.
    burstiness: ['2'],
    seconds: ['30'],
  },
  learn: { gpu: ['', 'nothing'], model: [''], cap: ['200'] },
}

describe('a malformed link', () => {
  const links = Object.entries(malformed).flatMap(([room, words]) =>
    Object.entries(words).flatMap(([word, texts]) =>
      texts.map((text) => [room, word, `#/${room}?${new URLSearchParams({ [word]: text })}`] as const),
    ),
  )

  it.each(links)('of %s is told, by its word %s: %s', (room, word, link) => {
    const { problems, ...place } = placeOf(link)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^'?${word}'?[: ]`))
    expect(place.room).toBe(room)
    // Nothing but what was told is lost: the address that it becomes is right.
    expect(placeOf(writePlace(place)).problems).toEqual([])
  })

  it('is one of more than a hundred kinds', () => {
    expect(links.length).toBeGreaterThan(100)
  })

  it('is told for repeated words, unknown rooms and words that exclude each other, all of them at once', () => {
    expect(placeOf('#/plan?cap=100&cap=200').problems).toEqual(["'cap' is given more than once; the first counts"])
    expect(placeOf('#/plan?cap=100&cap=200').plan.powerCapW).toBe(100)
    for (const link of ['#/nowhere', '#/plan/x?cap=3', '#?cap=3', '#/Plan']) {
      expect(placeOf(link).problems, link).toEqual([expect.stringMatching(/^there is no room /)])
    }
    expect(placeOf('#/run/services?task=trio&services=a:resnet50:1:50').problems).toEqual([
      'services has no effect beside the other words',
    ])
    expect(placeOf('#/run?policies=foo&caps=-5&seed=x').problems).toHaveLength(3)
    for (const right of ['', '#', '#/', ...roomNames.map((name) => `#/${name}`)]) {
      expect(placeOf(right).problems, right).toEqual([])
    }
  })
})

it('a list in a link has at most two hundred entries', () => {
  const read = (entries: number) => placeOf(`#/run?events=${new Array(entries).fill('kill@1').join(',')}`)
  expect(read(200).run.disturbances).toHaveLength(200)
  expect(read(201).problems).toHaveLength(1)
})

it('a link may name a network by an alias, and a parameter file as its system does', () => {
  expect(placeOf('#/run?model=MobileNetV2').run.model).toBe('mobilenet_v2')
  expect(placeOf('#/run?gpu=MINE.JSON').run.board).toBe('MINE.JSON')
})
