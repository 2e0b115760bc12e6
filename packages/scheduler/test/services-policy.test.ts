import { loadPerfModel } from '@pctodl/perf-model'
import type { Configuration, Service, ServiceReading, Telemetry, Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type Action, type SampleObservation, ServicesPolicy, type ServicesPolicyOptions } from '../src/index.js'
import type { Decision } from '../src/policy.js'
import type { ServicesPlanner } from '../src/services/services-planner.js'
import { ServingClocks } from '../src/services/serving-clocks.js'
import { search } from './two-services.js'

const model = loadPerfModel('3080Ti')
const photos: Service = { ...search, name: 'photos', model: 'mobilenet_v2', weight: 2 }
const both = [search, photos]
const CAP_W = 220

const tenantsOf = (...shares: readonly number[]): Tenant[] =>
  both.map((service, i) => ({ model: service.model, mpsPercent: shares[i]!, batchSize: 16, service: service.name }))
const planOf = (...shares: readonly number[]): Configuration => ({
  tenants: tenantsOf(...shares),
  memClockMhz: 9501,
  smClockMhz: 1200,
})

/** What comes to each service, requests/s, and what becomes of it. */
interface Load {
  readonly search: number
  readonly photos: number
  /** Of search, what waits now, and the share that is answered. Default: none, all. */
  readonly queued?: number
  readonly answered?: number
  /** Share of the answered requests that is late. Default: 0. */
  readonly late?: number
}

/** A policy in the loop of a run on a board as modelled: what it asks for is in force. */
class Served {
  readonly policy: ServicesPolicy
  readonly actions: { readonly timeMs: number; readonly action: Action }[] = []
  readonly decisions: (Decision & { readonly atMs: number })[] = []
  timeMs = 0
  applied: SampleObservation['applied'] = { tenants: [], smClockMhz: null, memClockMhz: null, powerLimitW: 350 }
  readonly #counts = { search: [0, 0, 0], photos: [0, 0, 0] }

  constructor(options: Partial<ServicesPolicyOptions> = {}, powerCapW = CAP_W) {
    const expectedPerS = { search: 150, photos: 250 }
    this.policy = new ServicesPolicy({ model, services: both, expectedPerS, plan: () => planOf(45, 45), ...options })
    this.#carryOut(this.policy.start(powerCapW))
  }

  for(durationMs: number, load: Load, more: Partial<SampleObservation> = {}): this {
    for (const endMs = this.timeMs + durationMs; this.timeMs < endMs; ) {
      this.timeMs += 100
      const { tenants, smClockMhz, memClockMhz } = this.applied
      const loaded = { tenants, smClockMhz: smClockMhz!, memClockMhz: memClockMhz! }
      // Half of what busy tenants draw beyond an idle board, and a sensor that never says the same twice.
      const read = 0.5 * model.predict(loaded).powerW + 30 + (this.timeMs % 200) / 10_000
      const telemetry: Telemetry = {
        timeMs: this.timeMs,
        powerAverageW: read,
        powerInstantW: read,
        energyJ: null,
        smClockMhz,
        memClockMhz,
        smUtilPercent: null,
        memUtilPercent: null,
        temperatureC: null,
        memoryUsedBytes: null,
        clocksEventReasons: [],
      }
      const services = both.map(({ name }) => this.#reading(name as 'search', load))
      const usual = { powerCapW: CAP_W, reconfiguring: false, smClockRefusedMs: 0, failures: [], activeShare: 1 }
      const { applied, timeMs } = this
      this.#carryOut(this.policy.onSample({ timeMs, telemetry, applied, services, ...usual, ...more }))
      this.#carryOut(this.policy.onIdle(timeMs))
    }
    return this
  }

  kinds(): string[] {
    return this.decisions.map(({ kind }) => kind)
  }

  starts(): { readonly timeMs: number; readonly action: Action }[] {
    return this.actions.filter(({ action }) => action.tenants)
  }

  carryOut(action: Action | undefined): this {
    this.#carryOut(action)
    return this
  }

  #reading(service: 'search' | 'photos', load: Load): ServiceReading {
    const counts = this.#counts[service]
    const { queued = 0, answered = 1, late: lateShare = 0 } = service === 'search' ? load : {}
    counts[0]! += load[service] / 10
    counts[1]! += (answered * load[service]) / 10
    counts[2]! += (lateShare * answered * load[service]) / 10
    const [arrived, completed, late] = counts.map(Math.floor) as [number, number, number]
    // Who is not answered is turned away.
    const shed = arrived - completed
    return { service, arrived, completed, late, shed, failed: 0, queued, running: 0 } as ServiceReading
  }

  #carryOut(action: Action | undefined): void {
    for (const decision of this.policy.takeDecisions()) this.decisions.push({ ...decision, atMs: this.timeMs })
    if (!action || Object.keys(action).length === 0) return
    this.actions.push({ timeMs: this.timeMs, action })
    const { tenants, smClockMhz, memClockMhz, powerLimitW } = { ...this.applied, ...action }
    this.applied = { tenants, smClockMhz: smClockMhz as number, memClockMhz: memClockMhz as number, powerLimitW }
  }
}

const usual: Load = { search: 150, photos: 250 }
/** The lowest clock that rates are served at with a little room. */
const clockFor = ({ search: a, photos: b }: Load, memClockMhz = 9501, room = 1.08) =>
  new ServingClocks(model, tenantsOf(45, 45), both, memClockMhz).lowest([room * a, room * b])!

describe('the begin', () => {
  it('is planned for the least power of what is expected, at a clock within the cap, with the board at it', () => {
    const asked: [string, readonly number[], number][] = []
    const plan: ServicesPlanner = ({ ratesPerS, powerCapW }, objective) => {
      asked.push([objective, ratesPerS, powerCapW])
      return planOf(45, 45)
    }
    const { applied, actions } = new Served({ plan, expectedPerS: { photos: 300 } })
    expect(asked).toEqual([['min-power', [1, 300], CAP_W]])
    expect(applied).toMatchObject({ tenants: tenantsOf(45, 45), memClockMhz: 9501, powerLimitW: CAP_W })
    expect(actions[0]!.action.powerLimitRole).toBe('hardware-limit')
    expect(applied.smClockMhz).toBeGreaterThan(210)
  })

  it('is the most value where not all can be served, and refused where nothing can', () => {
    const asked: string[] = []
    const plan: ServicesPlanner = (_, objective) => {
      asked.push(objective)
      return objective === 'max-value' ? planOf(30, 60) : undefined
    }
    expect(new Served({ plan }).applied.tenants).toEqual(tenantsOf(30, 60))
    expect(asked).toEqual(['min-power', 'max-value'])
    expect(() => new Served({ plan: () => undefined })).toThrow('powerCapW')
  })

  it('follows the cap with the limit of the board', () => {
    const served = new Served()
    served.carryOut(served.policy.onCapChange(180))
    expect(served.applied.powerLimitW).toBe(180)
  })
})

describe('the clock', () => {
  it('comes to the lowest that serves the rates, and says which service binds it', () => {
    const served = new Served({}).for(9000, usual)
    expect(served.applied.smClockMhz).toBe(clockFor(usual, served.applied.memClockMhz!, 1))
    expect(served.decisions.at(-1)!.reason).toMatch(/^p99 of (search|photos): search 150\/s, photos 250\/s$/)
  })

  it('rises with the rates in less than half a second', () => {
    const served = new Served({}).for(9000, usual)
    const before = served.applied.smClockMhz!
    served.for(500, { search: 600, photos: 250 })
    expect(served.applied.smClockMhz).toBeGreaterThan(before)
  })

  it('rises for a backlog at once, and falls when a second has agreed, by more than two states', () => {
    const served = new Served({}).for(9000, usual)
    const before = served.applied.smClockMhz!
    served.for(100, { ...usual, queued: 24 })
    const raised = served.applied.smClockMhz!
    expect(raised).toBeGreaterThan(before)
    expect(served.decisions.at(-1)!.reason).toMatch(/^backlog of search/)
    expect(served.for(900, usual).applied.smClockMhz).toBe(raised)
    expect(served.for(200, usual).applied.smClockMhz).toBe(before)
  })

  it('stays where the lowest that is enough moves by a state or two', () => {
    const busy = { search: 600, photos: 250 }
    const less = { search: 594, photos: 250 }
    const lower = clockFor(less, 5001, 1)
    const { smClocksMhz } = new ServingClocks(model, tenantsOf(45, 45), both, 5001)
    const states = smClocksMhz.indexOf(clockFor(busy, 5001, 1)) - smClocksMhz.indexOf(lower)
    expect([1, 2]).toContain(states)
    const served = new Served({}).for(15_000, busy)
    const before = served.applied.smClockMhz!
    const { length } = served.actions
    served.for(70_000, less)
    expect(served.actions.slice(length)).toEqual([])
    expect(before).toBeGreaterThan(lower)
  })

  // More batches at once than the highest clock can drain: full caution asks for more than the tenants can serve.
  it.each([16, 48, 128])('does not fall while more requests are late, with batches of up to %d', (maxBatchSize) => {
    const services = both.map((service) => ({ ...service, maxBatchSize }))
    const served = new Served({ services }).for(9000, usual)
    let before = served.applied.smClockMhz!
    for (let second = 0; second < 40; second++) {
      served.for(1000, { ...usual, late: 0.03 })
      expect(served.applied.smClockMhz).toBeGreaterThanOrEqual(before)
      before = served.applied.smClockMhz!
    }
    expect(before).toBeGreaterThan(clockFor(usual, served.applied.memClockMhz!))
  })

  it('falls again when no more requests are late, though the cap held it below what caution asked for', () => {
    const services = both.map((service) => ({ ...service, maxBatchSize: 128 }))
    const served = new Served({ services }, 150).for(9000, usual)
    const before = served.applied.smClockMhz!
    served.for(15_000, { ...usual, late: 0.03 })
    expect(served.decisions.at(-1)!.reason).toMatch(/^cap/)
    expect(served.for(100_000, usual).applied.smClockMhz).toBe(before)
  })

  it.each([0, 0.05])('falls again after late requests if the service then gets %d requests/s', (search) => {
    const services = both.map((service) => ({ ...service, maxBatchSize: 48 }))
    const served = new Served({ services }).for(9000, usual).for(15_000, { ...usual, late: 0.03 })
    expect(served.applied.smClockMhz).toBeGreaterThan(1000)
    expect(served.for(150_000, { ...usual, search }).applied.smClockMhz).toBeLessThan(500)
  })

  it('is asked for again while the board refuses it', () => {
    const served = new Served({}).for(9000, usual)
    const { length } = served.actions.filter(({ action }) => action.smClockMhz)
    served.for(500, usual, { smClockRefusedMs: 300 })
    expect(served.actions.filter(({ action }) => action.smClockMhz)).toHaveLength(length + 5)
  })
})

describe('who is turned away', () => {
  const tooMany: Load = { search: 2400, photos: 250, queued: 400, answered: 0.5 }

  const shares = ({ actions }: Served) => actions.flatMap(({ action }) => action.admitted?.['search'] ?? [])

  it('is nobody below the top clock; there a part of the service whose queue is long, and that is said', () => {
    const served = new Served({}).for(9000, usual).for(100, tooMany)
    expect(shares(served)).toEqual([])
    served.for(3000, tooMany)
    expect(served.applied.smClockMhz).toBe(2100)
    expect(served.decisions.filter(({ kind }) => kind === 'admission')[0]!.reason).toMatch(/^\d+ of 220 W at 2100 MHz$/)
    expect(shares(served).at(-1)).toBeGreaterThan(0.1)
    expect(shares(served).at(-1)).toBeLessThan(1)
  })

  it('is let in again when the clock falls', () => {
    const served = new Served({}).for(9000, usual).for(3500, tooMany).for(20_000, usual)
    expect(shares(served).at(-1)).toBe(1)
  })

  it('is fewer when less comes, also after the services have changed', () => {
    const served = new Served({}).for(9000, usual).for(3500, tooMany)
    const before = shares(served).at(-1)!
    served.policy.onServicesChange([{ ...search, weight: 3 }, photos], served.applied)
    served.for(3000, { search: 1900, photos: 250, answered: 0.5 })
    expect(served.applied.smClockMhz).toBe(2100)
    expect(shares(served).at(-1)).toBeGreaterThan(before + 0.05)
  })

  it('is who the cap leaves no watts for, though the lowest clock answers all', () => {
    const served = new Served().for(9000, usual)
    served.carryOut(served.policy.onCapChange(60)).for(3000, usual)
    expect(served.applied.smClockMhz).toBe(210)
    expect(shares(served)).not.toEqual([])
  })

  it('is nobody while tenants load', () => {
    const served = new Served({}).for(9000, usual).for(5000, tooMany, { reconfiguring: true })
    expect(served.kinds()).not.toContain('admission')
  })
})

describe('other tenants', () => {
  const tooMany: Load = { search: 2400, photos: 250, queued: 400, answered: 0.5 }
  const planner = (other: readonly [number, number]) => {
    const asked: number[] = []
    const plan: ServicesPlanner = ({ ratesPerS }, objective) => {
      if (objective === 'max-value') return other[0] === 75 ? planOf(...other) : undefined
      asked.push(Math.round(ratesPerS[0]!))
      return asked.length === 1 ? planOf(45, 45) : planOf(...other)
    }
    return { served: new Served({ plan }).for(40_000, usual), asked }
  }

  it('are looked for when the present ones do not bear the mix for longer than a burst, and taken where they bear more', () => {
    const { served, asked } = planner([75, 20])
    served.for(8000, tooMany)
    expect(asked).toEqual([150])
    served.for(6000, tooMany)
    expect([...new Set(asked)]).toEqual([150, 2400])
    expect(served.applied.tenants).toEqual(tenantsOf(75, 20))
    expect(served.starts().at(-1)!.action.reason).toMatch(/^other tenants answer [\d.]+ times as much of this mix$/)
  })

  it('are not looked for when a crowd has just gone', () => {
    const { served, asked } = planner([75, 20])
    served.for(9000, tooMany).for(20_000, usual)
    expect(asked).toEqual([150])
  })

  it('are left where they bear no more, and not looked for again for half a minute', () => {
    const { served, asked } = planner([46, 45])
    served.for(25_000, tooMany)
    expect(served.kinds().filter((kind) => kind === 'plan-rejected')).toHaveLength(1)
    expect(served.applied.tenants).toEqual(tenantsOf(45, 45))
    const { length } = asked
    served.for(14_000, tooMany)
    expect(asked).toHaveLength(length)
    served.for(10_000, tooMany)
    expect(asked.length).toBeGreaterThan(length)
  })

  it('are not looked for because of what was turned away at rates that the present ones bear', () => {
    const { served, asked } = planner([75, 20])
    served.for(30_000, { ...usual, queued: 400, answered: 0.2 })
    expect(asked).toHaveLength(1)
  })
})

describe('dead tenants', () => {
  it('are started again, which is said, at a clock within the cap', () => {
    const served = new Served({}).for(9000, usual)
    const failures = [{ tenant: tenantsOf(45, 45)[0]!, failure: 'killed by signal 9' }]
    served.for(100, usual, { failures })
    expect(served.decisions.at(-1)).toMatchObject({ kind: 'tenants-died', reason: 'killed by signal 9', timeMs: 9100 })
    expect(served.starts().at(-1)).toMatchObject({
      timeMs: 9100,
      action: { tenants: tenantsOf(45, 45), reason: 'dead tenants are restarted, attempt 1' },
    })
    served.for(3000, usual, { failures, reconfiguring: true })
    expect(served.starts()).toHaveLength(2)
  })
})

describe('the memory clock', () => {
  it('becomes the one that serves the same with clearly less power, looked at each ten seconds', () => {
    const little: Load = { search: 40, photos: 60 }
    const served = new Served({ expectedPerS: { search: 40, photos: 60 } })
    served.for(9900, little)
    expect(served.applied.memClockMhz).toBe(9501)
    served.for(200, little)
    expect(served.applied.memClockMhz).toBe(5001)
    const powerAt = (memClockMhz: number) => {
      const clocks = new ServingClocks(model, tenantsOf(45, 45), both, memClockMhz)
      return clocks.predict(clockFor(little, memClockMhz), [1.08 * 40, 1.08 * 60]).powerW
    }
    expect(powerAt(5001)).toBeLessThan(0.97 * powerAt(9501))
    const change = served.actions.find(({ action }) => action.memClockMhz === 5001)!
    expect(change.action.reason).toBe('less power is needed at 5001 MHz memory')
    const { length } = served.actions.filter(({ action }) => action.memClockMhz)
    expect(served.for(25_000, little).actions.filter(({ action }) => action.memClockMhz)).toHaveLength(length)
  })
})

describe('the memory clock where none serves all', () => {
  it('becomes the one at which more is answered, within seconds', () => {
    const little: Load = { search: 40, photos: 60 }
    const served = new Served({ expectedPerS: { search: 40, photos: 60 } }).for(15_000, little)
    expect(served.applied.memClockMhz).toBe(5001)
    served.for(3000, { search: 2400, photos: 250, queued: 400, answered: 0.5 })
    expect(served.actions.findLast(({ action }) => action.memClockMhz)!.action.reason).toBe(
      'more is answered at 9501 MHz memory',
    )
    expect(served.applied.memClockMhz).toBe(9501)
  })
})

describe('services that change', () => {
  it('leave tenants that serve all of them, and get their new objectives', () => {
    const served = new Served({}).for(20_000, usual)
    const before = served.applied.smClockMhz!
    const hurried = [{ ...search, objective: { p99Ms: 25 } }, photos]
    expect(served.policy.onServicesChange(hurried, served.applied)).toBeUndefined()
    expect(served.for(2000, usual).applied.smClockMhz).toBeGreaterThan(before)
  })

  it('need no higher clock for requests that were late long before', () => {
    const served = new Served({}).for(60_000, { ...usual, late: 0.03 }).for(150_000, usual)
    const before = served.applied.smClockMhz
    served.policy.onServicesChange([{ ...search, weight: 3 }, photos], served.applied)
    expect(served.for(2000, usual).applied.smClockMhz).toBe(before)
  })

  it('take the tenants of those that left, and make room for those that came', () => {
    const served = new Served({}).for(9000, usual)
    const tags: Service = { ...search, name: 'tags', model: 'mnasnet1_0' }
    served.carryOut(served.policy.onServicesChange([photos, tags], served.applied))
    expect(served.applied.tenants.map(({ service }) => service)).toEqual(['photos', 'tags'])
    expect(served.applied.tenants[0]).toEqual(tenantsOf(45, 45)[1])
    expect(served.actions.at(-1)!.action.reason).toBe('services: photos, tags')
  })

  it('gives a newcomer a batch size that fits its objective in its share', () => {
    const joined = (p99Ms: number) => {
      const served = new Served({}).for(9000, usual)
      const scans = { ...search, name: 'scans', model: 'efficientnet_v2_m', maxBatchSize: 32, objective: { p99Ms } }
      served.carryOut(served.policy.onServicesChange([search, photos, scans], served.applied))
      return served.applied.tenants.find(({ service }) => service === 'scans')!
    }
    expect(joined(5000)).toMatchObject({ mpsPercent: 10, batchSize: 32 })
    expect(joined(150).batchSize).toBeLessThan(32)
  })
})
