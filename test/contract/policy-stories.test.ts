import { loadPerfModel } from '@pctodl/perf-model'
import type { Configuration, Tenant } from '@pctodl/platform'
import { PctodlPolicy, type PowerCapPolicy } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { type Errors, PolicyBoard } from './policy-board.js'

type Options = ConstructorParameters<typeof PctodlPolicy>[0]

const model = loadPerfModel('3080Ti')
const memClockMhz = 9501
const small: Tenant[] = [30, 30].map((mpsPercent) => ({ model: 'resnet50', mpsPercent, batchSize: 8 }))

function board(capW: number, options: Partial<Options> = {}, errors: Errors = {}): PolicyBoard {
  const policy: PowerCapPolicy = new PctodlPolicy({
    predictor: model,
    ...(options.models === undefined ? { model: 'resnet50' } : {}),
    partition: { budgetEvaluations: 300 },
    // The clock alone holds the cap: the reduced board has no firmware that trims.
    hardwareLimitPercent: null,
    ...options,
  })
  return new PolicyBoard(policy, model, capW, errors)
}

const kinds = ({ decided }: PolicyBoard, fromMs = 0) =>
  decided.filter(({ timeMs }) => timeMs >= fromMs).map(({ kind }) => kind)
/** Times at which processes were started, s. */
const starts = ({ startedMs }: PolicyBoard, fromMs = 1) =>
  startedMs.filter((timeMs) => timeMs >= fromMs).map((timeMs) => timeMs / 1000)

describe('a search while tenants run', () => {
  const from = { fixed: { tenants: small, memClockMhz }, shadow: { interval: 1 } }
  /** A board that does what is predicted, but for a factor by batch size that the search cannot know. */
  const errors = (factor: number): Errors => ({
    speed: ({ tenants }) => 1 + factor * Math.sin(tenants.reduce((sum, { batchSize }) => sum + batchSize, 0)),
  })

  it.each([0, 0.02, 0.06])('ends with more than it began with, though predictions are off by %d', (factor) => {
    const played = board(220, from, errors(factor)).run(20)
    const before = played.throughput
    played.run(580)
    expect(played.throughput).toBeGreaterThan(1.15 * before)
    expect(kinds(played)).toContain('shadow-kept')
    // Each trial ends, and begins only after the one before it.
    const ended = kinds(played).filter((kind) => kind.startsWith('shadow-') && kind !== 'shadow-none')
    ended.forEach((kind, i) => {
      expect(kind === 'shadow-try').toBe(i % 2 === 0)
    })
  })

  it('keeps no change that measured less, and tries none of them again', () => {
    const start = JSON.stringify(small)
    const isStart = ({ tenants, memClockMhz: clock }: Configuration) =>
      JSON.stringify(tenants) === start && clock === memClockMhz
    const played = board(220, from, { speed: (configuration) => (isStart(configuration) ? 1.6 : 1) }).run(900)
    const tried = played.changes(0, 'reason').filter(({ action }) => /tries a neighbour/.test(action.reason!))
    const reverted = played.changes(0, 'reason').filter(({ action }) => /reverted/.test(action.reason!))
    const keys = tried.map(({ action: { tenants, memClockMhz: clock } }) => JSON.stringify([tenants, clock]))
    expect(tried.length).toBeGreaterThan(2)
    expect(new Set(keys).size).toBe(keys.length)
    expect(reverted).toHaveLength(tried.length)
    expect(isStart(played.configuration)).toBe(true)
    // Failures make it hesitate, for 16 windows at most.
    expect(tried.filter(({ timeMs }) => timeMs < 300_000).length).toBeGreaterThanOrEqual(
      tried.filter(({ timeMs }) => timeMs > 600_000).length,
    )
    const searches = () => played.decided.filter(({ kind }) => kind === 'shadow-none' || kind === 'shadow-try')
    const waitsMs = searches().flatMap(({ kind }, i, all) =>
      kind === 'shadow-none' && i + 1 < all.length ? [all[i + 1]!.timeMs - all[i]!.timeMs] : [],
    )
    expect(Math.max(...waitsMs)).toBe(16 * 5000)
    // A new cap is a new chance.
    const later = searches().length
    played.cap(200).run(25)
    expect(searches().length).toBeGreaterThanOrEqual(later + 2)
  })

  it('reverts a trial in which a tenant fails, and goes on after that', () => {
    const played = board(220, from)
    while (!kinds(played).includes('shadow-try') && played.timeMs < 100_000) played.run(0.1)
    const tried = JSON.stringify(played.tenants)
    played.run(3).kill(0).run(1)
    expect(kinds(played)).toContain('shadow-rolled-back')
    expect(played.tenants.map(({ mpsPercent, batchSize }) => [mpsPercent, batchSize])).toEqual([
      [30, 8],
      [30, 8],
    ])
    played.run(200)
    expect(kinds(played)).toContain('shadow-kept')
    expect(JSON.stringify(played.tenants)).not.toBe(tried)
  })

  it('forgets what it measured when the cap changes', () => {
    const played = board(220, from)
    while (!kinds(played).includes('shadow-try') && played.timeMs < 100_000) played.run(0.1)
    played.cap(150).run(100)
    // The trial is neither kept nor reverted by what the other cap allows.
    const after = kinds(played).filter((kind) => kind.startsWith('shadow-') && kind !== 'shadow-none')
    expect(after.slice(0, 2)).toEqual(['shadow-try', 'shadow-try'])
  })
})

describe('tenants that change with the cap', () => {
  // Plans of this network have other shares at each cap, so that they need other processes.
  const short = { model: 'densenet201', partition: { latencySloMs: 60, budgetEvaluations: 300 } }
  const all = (restart: Partial<Options> = {}) => ({ ...short, ...restart })

  it('change where the gain is worth the restart, once, after the clocks', () => {
    const played = board(150, all()).run(20)
    const before = played.smClockMhz
    played.cap(330).run(1)
    expect(played.smClockMhz).toBeGreaterThan(before)
    played.run(59)
    const changed = starts(played)
    expect(changed).toHaveLength(1)
    expect(changed[0]).toBeGreaterThanOrEqual(22)
    expect(changed[0]).toBeLessThan(22 + 15)
    expect(played.throughput).toBeGreaterThan(0.98 * board(330, all()).run(30).throughput)
  })

  it('stay where caps last too short for a restart to pay, or none may be paid for', () => {
    const quick = board(150, all()).run(10)
    for (let i = 0; i < 20; i++) quick.cap(i % 2 === 0 ? 330 : 150).run(3)
    expect(starts(quick, 20_000)).toEqual([])
    const never = board(150, all({ payBackS: 0.01 }))
      .run(10)
      .cap(330)
      .run(60)
    expect(starts(never)).toEqual([])
    expect(kinds(never)).toContain('plan-rejected')
    expect(never.smClockMhz).toBeGreaterThan(board(150, all()).run(10).smClockMhz)
  })

  it('are planned again where the board draws other power than predicted, once', () => {
    for (const factor of [0.8, 1.25]) {
      const played = board(220, {}, { power: () => factor }).run(30)
      expect(kinds(played)).not.toContain('plan-review')
      played.run(60)
      expect(kinds(played).filter((kind) => kind === 'plan-review')).toHaveLength(1)
      expect(played.powerW).toBeLessThanOrEqual(1.005 * 220)
    }
    expect(kinds(board(220, {}, { power: () => 1.03 }).run(60))).not.toContain('plan-review')
  })

  it('become fewer where no clock holds the cap, until it is held or one is left', () => {
    // Each tenant draws what no predictor knows.
    const played = board(150, {}, { power: ({ tenants }) => 0.7 + 0.45 * tenants.length }).run(60)
    expect(played.powerW).toBeLessThanOrEqual(1.005 * 150)
    const helpless = board(110, {}, { power: () => 2.5 }).run(60)
    expect(helpless.tenants).toHaveLength(1)
    expect(kinds(helpless)).toContain('cap-not-held')
    const fixed = board(110, { fixed: { tenants: small, memClockMhz } }, { power: () => 2.5 }).run(30)
    expect(fixed.tenants).toEqual(small)
    expect(kinds(fixed)).toContain('cap-not-held')
    // It is said again now and then, not in each sample.
    expect(kinds(fixed).filter((kind) => kind === 'cap-not-held').length).toBeLessThan(6)
  })
})

describe('tenants that die', () => {
  it('are restarted at once, then after waits that double, and at once again after a long quiet', () => {
    const played = board(220, { partition: { budgetEvaluations: 100 } }).run(20)
    const restarts: number[] = []
    for (let step = 0; step < 1100; step++) {
      if (!played.loading && played.changes(played.timeMs - 3000, 'tenants').length > 0) played.kill(0)
      else if (step === 0) played.kill(0)
      played.run(0.2)
    }
    restarts.push(...starts(played, 20_000))
    const waits = restarts.map((at, i) => at - (restarts[i - 1] ?? 20))
    expect(waits[0]).toBeLessThan(0.5)
    expect(waits[1]).toBeGreaterThan(4.5)
    for (let i = 2; i < 5; i++) expect(waits[i]! / waits[i - 1]!).toBeCloseTo(2, 0)
    const quiet = board(220).run(10).kill(0).run(601).kill(0).run(1)
    expect(starts(quiet, 610_000)).toHaveLength(1)
  })

  it('for want of memory come back as a plan that needs less', () => {
    const played = board(300).run(10)
    const bytes = () => played.tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), 0)
    const before = bytes()
    for (let i = 0; i < 6; i++) played.kill(0, 'out of memory: 12 of 11 GiB').run(4)
    expect(bytes()).toBeLessThan(0.75 * before)
    expect(played.loading).toBe(false)
    const fixed = board(300, { fixed: { tenants: small, memClockMhz } })
      .run(10)
      .kill(0, 'out of memory')
      .run(20)
    expect(starts(fixed, 10_000)).toEqual([])
  })

  it('do not teach that the others draw less', () => {
    const played = board(220).run(20)
    const { smClockMhz, powerW } = played
    played.kill(0).run(20)
    expect(played.smClockMhz / smClockMhz).toBeCloseTo(1, 1)
    expect(played.powerW / powerW).toBeCloseTo(1, 1)
  })
})

describe('a clock that is refused', () => {
  it('stops tenants while the cap is exceeded, and all come back when it is accepted', () => {
    const played = board(300).run(20)
    const all = played.tenants.length
    played.refuses = true
    played.cap(150).run(6)
    expect(played.tenants.length).toBeLessThan(all)
    expect(played.powerW).toBeLessThanOrEqual(150)
    const left = played.tenants.length
    const stopped = played.changes(20_000, 'tenants')
    expect(stopped[0]!.timeMs).toBeLessThan(22_000)
    expect(stopped.length).toBeLessThanOrEqual(2)
    played.refuses = false
    played.run(6)
    expect(starts(played, 26_100)[0]).toBeLessThan(27)
    expect(played.tenants.length).toBeGreaterThan(left)
    played.run(10)
    expect(played.powerW).toBeLessThanOrEqual(1.005 * 150)
    expect(played.powerW).toBeGreaterThan(0.9 * 150)
  })

  it('stops nobody while the cap is held', () => {
    const played = board(200).run(20)
    played.refuses = true
    played.cap(260).run(20)
    expect(played.changes(20_000, 'tenants')).toEqual([])
  })

  it('is asked for again where the board runs another one, every two seconds', () => {
    const played = board(220).run(20)
    played.loses = true
    played.smClockMhz = 600
    played.run(15)
    const again = played.changes(20_000, 'again').map(({ timeMs }) => timeMs)
    expect(again.length).toBeGreaterThanOrEqual(3)
    for (const [i, timeMs] of again.entries()) if (i > 0) expect(timeMs - again[i - 1]!).toBe(2000)
    played.loses = false
    played.run(10)
    expect(played.changes(32_000, 'again').length).toBeLessThanOrEqual(2)
    expect(kinds(played)).toContain('board-seen')
  })
})

describe('batches that take longer than they may', () => {
  it.each([1.06, 1.4])('become shorter where they take %d times their bound', (times) => {
    const latencySloMs = 60
    let slower = 1
    const options = { model: 'densenet201', partition: { latencySloMs, budgetEvaluations: 300 } }
    const played = board(250, options, { speed: () => 1 / slower }).run(19)
    const shares = played.tenants.map(({ mpsPercent }) => mpsPercent)
    slower = (times * latencySloMs) / Math.max(...played.latenciesMs)
    played.run(41)
    expect(kinds(played)).toContain('latency-missed')
    const longestMs = Math.max(...played.latenciesMs)
    expect(longestMs).toBeLessThanOrEqual(latencySloMs)
    expect(longestMs).toBeGreaterThan(0.6 * latencySloMs)
    // A little too long needs no restart.
    if (times < 1.1) expect(played.tenants.map(({ mpsPercent }) => mpsPercent)).toEqual(shares)
    expect(kinds(played).filter((kind) => kind === 'latency-missed').length).toBeLessThan(4)
  })

  it('are left alone where they are short enough', () => {
    const played = board(250, { model: 'densenet201', partition: { latencySloMs: 60, budgetEvaluations: 300 } }).run(40)
    expect(kinds(played)).not.toContain('latency-missed')
    expect(played.changes(100, 'tenants')).toEqual([])
  })
})
