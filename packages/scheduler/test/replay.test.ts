import type { Service, Telemetry, Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import type { Action, AppliedState, Decision, PowerCapPolicy } from '../src/policy.js'
import { replayRun } from '../src/replay.js'
import type { ActionSource, RunEvent, RunEventBody } from '../src/run-event.js'

type Answers = Partial<Record<ActionSource, readonly (Action | undefined)[]>>

/** Answers what it is told to, the last answer again and again, and remembers what it was shown. */
class Told implements PowerCapPolicy {
  readonly name = 'told'
  readonly seen: [ActionSource, ...unknown[]][] = []
  decisions: Decision[] = []
  readonly #answers: Answers
  readonly #calls: Partial<Record<ActionSource, number>> = {}

  constructor(answers: Answers = {}) {
    this.#answers = answers
  }

  start(powerCapW: number): Action {
    return this.#answer('start', powerCapW) ?? {}
  }
  onCapChange(powerCapW: number, applied: AppliedState) {
    return this.#answer('cap-change', powerCapW, applied)
  }
  onSample(sample: object) {
    return this.#answer('sample', sample)
  }
  onWindow(window: object) {
    return this.#answer('window', window)
  }
  onServicesChange(services: readonly Service[], applied: AppliedState) {
    return this.#answer('services-change', services, applied)
  }
  onIdle(timeMs: number, applied: AppliedState) {
    return this.#answer('idle', timeMs, applied)
  }
  takeDecisions(): readonly Decision[] {
    return this.decisions.splice(0)
  }

  #answer(source: ActionSource, ...shown: unknown[]): Action | undefined {
    this.seen.push([source, ...shown])
    const call = this.#calls[source] ?? 0
    this.#calls[source] = call + 1
    const answers = this.#answers[source] ?? []
    return answers[Math.min(call, answers.length - 1)]
  }

  shown(source: ActionSource): unknown[] {
    return this.seen.filter(([name]) => name === source).map(([, ...rest]) => rest)
  }
}

const tenants: readonly Tenant[] = [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }]
const telemetry = { powerAverageW: 100 } as Telemetry
const free = { smClockMhz: null, memClockMhz: null, powerLimitW: 350 }

const start = (capW = 200, sensorTolerancePercent?: number): RunEvent =>
  ({
    timeMs: 0,
    type: 'run-start',
    caps: [{ atMs: 0, powerCapW: capW }],
    powerLimitW: 350,
    ...(sensorTolerancePercent === undefined ? {} : { sensorTolerancePercent }),
  }) as unknown as RunEvent
const sampled = (timeMs: number, more: object = {}): RunEvent => ({
  timeMs,
  type: 'sample',
  telemetry,
  powerCapW: 200,
  reconfiguring: false,
  smClockRefusedMs: 0,
  failures: [],
  inForce: free,
  completed: 0,
  ...more,
})
const acted = (timeMs: number, source: ActionSource, action: Action): RunEvent => ({
  timeMs,
  type: 'action',
  source,
  action,
})
const decided = (timeMs: number, source: ActionSource, decision: Decision): RunEvent => ({
  timeMs,
  type: 'decision',
  source,
  decision,
})
const event = (timeMs: number, body: RunEventBody): RunEvent => ({ timeMs, ...body })
const windowed = (timeMs: number): RunEvent =>
  event(timeMs, { type: 'window', window: { iteration: 1, powerCapW: 200, applied: free } as never })

describe('a replay', () => {
  it('counts what was shown and done, and finds nothing where all is the same', () => {
    const action = { smClockMhz: 900, reason: 'as high as may be' }
    const policy = new Told({ start: [action], sample: [undefined, { smClockMhz: 600 }] })
    const events = [
      start(),
      acted(0, 'start', action),
      sampled(100),
      windowed(100),
      sampled(200),
      acted(200, 'sample', { smClockMhz: 600 }),
    ]
    expect(replayRun(events, policy)).toEqual({ samples: 2, windows: 1, actions: 2, decisions: 0, differences: [] })
  })

  it('says what the policy did otherwise: in another way, as well, or not', () => {
    const events = [
      start(),
      acted(0, 'start', { smClockMhz: 900 }),
      sampled(100),
      acted(100, 'idle', { tenants }),
      sampled(200),
    ]
    const policy = new Told({ start: [{ smClockMhz: 915 }], sample: [undefined, { powerLimitW: 300 }] })
    expect(replayRun(events, policy).differences).toEqual([
      { timeMs: 0, source: 'start', recorded: [{ smClockMhz: 900 }], replayed: [{ smClockMhz: 915 }] },
      { timeMs: 100, source: 'idle', recorded: [{ tenants }], replayed: [] },
      { timeMs: 200, source: 'sample', recorded: [], replayed: [{ powerLimitW: 300 }] },
    ])
  })

  it('takes for no action what asks for nothing', () => {
    const policy = new Told({
      start: [{ reason: 'all is well' }],
      sample: [{ powerLimitRole: 'hardware-limit', reason: '' }],
    })
    expect(replayRun([start(), sampled(100)], policy)).toMatchObject({ actions: 0, differences: [] })
  })

  it('holds decisions against the record, before the action of the same call', () => {
    const decision = { kind: 'clock-status', reason: 'settled' }
    const action = { smClockMhz: 600 }
    const events = [start(), sampled(100), decided(100, 'sample', decision), acted(100, 'sample', action)]
    const told = () => {
      const policy = new Told({ sample: [action] })
      const { onSample } = policy
      policy.onSample = (sample) => {
        policy.decisions = [decision]
        return onSample.call(policy, sample)
      }
      return policy
    }
    expect(replayRun(events, told())).toMatchObject({ decisions: 1, actions: 1, differences: [] })
    expect(replayRun([start(), sampled(100), acted(100, 'sample', action)], told()).differences).toEqual([
      { timeMs: 100, source: 'sample', recorded: [action], replayed: [decision, action] },
    ])
  })

  it('shows a sample after what was told in its time: the window that ends, the new cap, the other services', () => {
    const services = [{ name: 'search' }] as unknown as readonly Service[]
    const events = [
      start(),
      sampled(100),
      windowed(100),
      event(100, { type: 'cap', powerCapW: 150 }),
      event(100, { type: 'services', services }),
      sampled(200),
    ]
    const policy = new Told()
    replayRun(events, policy)
    expect(policy.seen.map(([source]) => source)).toEqual([
      'start',
      'window',
      'cap-change',
      'services-change',
      'sample',
      'idle',
      'sample',
      'idle',
    ])
    expect(policy.shown('sample')).toMatchObject([[{ timeMs: 100, powerCapW: 150 }], [{ timeMs: 200, powerCapW: 150 }]])
    expect(policy.shown('services-change')).toEqual([[services, { ...free, tenants: [] }]])
    expect(policy.shown('idle')).toEqual([
      [100, { ...free, tenants: [] }],
      [200, { ...free, tenants: [] }],
    ])
  })

  it('shows what was in force: what was granted, not what was refused', () => {
    const asked = { smClockMhz: 900, memClockMhz: 5001, powerLimitW: 300, tenants } as const
    const refused = (setter: 'smClockMhz' | 'powerLimitW') =>
      event(0, { type: 'refused', setter, value: 1, code: 'NO_PERMISSION', message: 'no' })
    const policy = new Told({ start: [asked], sample: [{ smClockMhz: 'unlocked' }, undefined] })
    const granted = { memClockMhz: 5001, smClockMhz: null, powerLimitW: 350 }
    replayRun(
      [
        start(),
        acted(0, 'start', asked),
        refused('powerLimitW'),
        refused('smClockMhz'),
        event(0, { type: 'tenant', processId: 1, tenant: tenants[0]!, state: 'running' }),
        event(0, { type: 'granted', setter: 'smClockMhz', value: 900 }),
        event(50, { type: 'cap', powerCapW: 150 }),
        sampled(100, { inForce: granted }),
        acted(100, 'sample', { smClockMhz: 'unlocked' }),
      ],
      policy,
    )
    expect(policy.shown('cap-change')).toEqual([
      [150, { tenants, smClockMhz: 900, memClockMhz: 5001, powerLimitW: 350 }],
    ])
    expect(policy.shown('sample')).toMatchObject([[{ applied: { tenants, ...granted } }]])
    expect(policy.shown('idle')).toEqual([[100, { tenants, ...granted }]])
  })

  it('tells caps with the room that was kept for the sensor', () => {
    const events = [start(200, 5), sampled(100), windowed(100), event(100, { type: 'cap', powerCapW: 100 })]
    const policy = new Told()
    replayRun(events, policy)
    expect(policy.shown('start')).toEqual([[190]])
    expect(policy.shown('window')).toMatchObject([[{ powerCapW: 190 }]])
    expect(policy.shown('cap-change')).toMatchObject([[95, {}]])
    expect(policy.shown('sample')).toMatchObject([[{ powerCapW: 95 }]])
  })

  it('shows of a sample what was recorded, and nothing else', () => {
    const known = { activeShare: 0.5, stallNoticeMs: 300, meterPowerW: null, services: [] }
    const policy = new Told()
    replayRun([start(), sampled(100), sampled(200, known)], policy)
    const [[plain], [full]] = policy.shown('sample') as [[object], [object]]
    expect(full).toEqual({ ...plain, ...known, timeMs: 200 })
    for (const key of Object.keys(known)) expect(plain).not.toHaveProperty(key)
  })
})
