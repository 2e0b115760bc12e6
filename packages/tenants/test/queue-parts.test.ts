import { InvalidInputError, type Service, type Tenant, VirtualClock } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timedWorker } from '../src/index.js'
import type { TimedWorkerOptions } from '../src/pool/timed-worker-kind.js'
import { batchSizesUpTo, sizeFor } from '../src/requests/batch-sizes.js'
import type { Answer, PendingRequest } from '../src/requests/pending-request.js'
import { type Instance, ServiceDispatcher } from '../src/requests/service-dispatcher.js'
import { assertTraffic, limitsOf, startTraffic } from '../src/requests/service-traffic.js'
import { WaitingLine } from '../src/requests/waiting-line.js'

const requestOf = (arrivedMs: number): PendingRequest => ({
  arrivedMs,
  deadlineMs: Number.POSITIVE_INFINITY,
  again: false,
  calledOff: false,
  decided: undefined,
})

describe('batch sizes', () => {
  it('go from one to the largest, none more than twice the one before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), (largest) => {
        const sizes = batchSizesUpTo(largest)
        expect([sizes[0], sizes.at(-1)]).toEqual([1, largest])
        for (const [i, size] of sizes.entries()) {
          if (i === 0) continue
          expect(size).toBeGreaterThan(sizes[i - 1]!)
          expect(size).toBeLessThanOrEqual(2 * sizes[i - 1]!)
        }
      }),
    )
  })

  it('have room for so many requests, and are the smallest that have', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(599), (largest, beyond) => {
        const requests = 1 + (beyond % largest)
        const size = sizeFor(requests, largest)
        expect(size).toBeGreaterThanOrEqual(requests)
        expect(batchSizesUpTo(largest).filter((each) => each >= requests && each < size)).toEqual([])
      }),
    )
  })
})

describe('a line of those who wait', () => {
  it('is a list from which anybody may leave, also while it is gone through', () => {
    const step = fc.record({ what: fc.constantFrom('push', 'putFirst', 'remove', 'pass'), which: fc.nat(20) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const line = new WaitingLine()
        let list: PendingRequest[] = []
        const gone = requestOf(-1)
        for (const [i, { what, which }] of steps.entries()) {
          const request = requestOf(i)
          if (what === 'push') {
            line.push(request)
            list.push(request)
          } else if (what === 'putFirst') {
            line.putFirst(request)
            list.unshift(request)
          } else if (what === 'remove') {
            const leaving = list[which] ?? gone
            expect(line.remove(leaving)).toBe(leaving !== gone)
            list = list.filter((each) => each !== leaving)
          } else {
            // Each takes the one behind with it, and nobody is met who has left.
            const met: PendingRequest[] = []
            for (const each of line) {
              met.push(each)
              line.remove(each)
              const behind = list[list.indexOf(each) + 1]
              if (behind) line.remove(behind)
            }
            expect(met).toEqual(list.filter((_, place) => place % 2 === 0))
            list = []
          }
          expect([[...line], line.length, line.first]).toEqual([list, list.length, list[0]])
        }
      }),
    )
  })
})

describe('the traffic of a service', () => {
  it('may be what no queue is too short for', () => {
    const nextMs = () => Number.POSITIVE_INFINITY
    for (const traffic of [
      {},
      { arrivals: { nextMs } },
      { saturating: 0 },
      { saturating: 4096 },
      { saturating: 1, maxQueued: 1 },
      { maxQueued: 1, shedAfterMs: 0.001 },
    ]) {
      expect(() => assertTraffic(traffic)).not.toThrow()
    }
    for (const [field, traffic] of [
      ['arrivals', { arrivals: {} }],
      ['arrivals', { arrivals: null }],
      ['saturating', { saturating: -1 }],
      ['saturating', { saturating: 0.5 }],
      ['saturating', { saturating: 4097 }],
      ['saturating', { saturating: 3, maxQueued: 2 }],
      ['maxQueued', { maxQueued: 0 }],
      ['maxQueued', { maxQueued: 1.5 }],
      ['shedAfterMs', { shedAfterMs: 0 }],
      ['shedAfterMs', { shedAfterMs: Number.NaN }],
    ] as const) {
      expect(() => assertTraffic(traffic as never), JSON.stringify(traffic)).toThrow(InvalidInputError)
      expect(() => assertTraffic(traffic as never)).toThrow(new RegExp(`^${field}: `))
    }
    expect(limitsOf({})).toEqual({ maxQueued: 4096, shedAfterMs: Number.POSITIVE_INFINITY })
  })

  /** What arrives of traffic in a time. */
  async function arrivalsOf(traffic: Parameters<typeof startTraffic>[0], durationMs: number, answer?: Answer) {
    const clock = new VirtualClock()
    await clock.sleep(1000)
    const ended = new AbortController()
    const seen: { atMs: number; arrivedMs: number }[] = []
    const arrive: Parameters<typeof startTraffic>[1] = ({ arrivedMs, decided }) => {
      seen.push({ atMs: clock.now() - 1000, arrivedMs: arrivedMs - 1000 })
      if (answer) void clock.sleep(answer.latencyMs).then(() => decided?.(answer))
    }
    startTraffic(traffic, arrive, clock, ended.signal, () => expect.unreachable())
    await clock.sleep(durationMs)
    ended.abort()
    const before = seen.length
    await clock.sleep(durationMs)
    expect(seen).toHaveLength(before)
    return seen
  }

  it('comes when it is due, counted from the beginning, until it ends or is ended', async () => {
    const timesMs = [0, 0, 2.5, 2.5, 40, 99, 150]
    const left = [...timesMs]
    const seen = await arrivalsOf({ arrivals: { nextMs: () => left.shift() ?? Number.POSITIVE_INFINITY } }, 100)
    expect(seen).toEqual(timesMs.filter((ms) => ms < 100).map((ms) => ({ atMs: ms, arrivedMs: ms })))
    expect(await arrivalsOf({ arrivals: { nextMs: () => Number.POSITIVE_INFINITY } }, 100)).toEqual([])
  })

  it('is not lost where more is due at once than is taken in without a pause', async () => {
    let count = 0
    const seen = await arrivalsOf({ arrivals: { nextMs: () => (count++ < 1234 ? 5 : Number.POSITIVE_INFINITY) } }, 100)
    expect(seen).toHaveLength(1234)
    expect(new Set(seen.map(({ atMs }) => atMs))).toEqual(new Set([5]))
  })

  it('that saturates asks anew as soon as it is answered, and a little later where it was turned away', async () => {
    const completed = await arrivalsOf({ saturating: 2 }, 95, { outcome: 'completed', latencyMs: 20 })
    expect(completed.map(({ atMs }) => atMs)).toEqual([0, 0, 20, 20, 40, 40, 60, 60, 80, 80])
    const shed = await arrivalsOf({ saturating: 1 }, 95, { outcome: 'shed', latencyMs: 20 })
    expect(shed.map(({ atMs }) => atMs)).toEqual([0, 30, 60, 90])
  })
})

describe('a dispatcher', () => {
  const service: Service = {
    name: 'search',
    model: 'resnet50',
    weight: 1,
    objective: { p99Ms: 100 },
    maxBatchSize: 4,
    maxQueueDelayMs: 10,
  }
  const tenant: Tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 8, service: 'search' }

  function setUp({ maxQueued = 100, shedAfterMs = 1000 } = {}) {
    const clock = new VirtualClock()
    const dispatcher = new ServiceDispatcher(service, { maxQueued, shedAfterMs }, clock)
    const batches: { readonly atMs: number; readonly requests: number; readonly size: number; readonly by: string }[] =
      []
    const instanceOf = (by: string, mpsPercent = 50, batchSize = 8, batchMs = 20): Instance => {
      const instance = {
        tenant: { ...tenant, mpsPercent, batchSize },
        busy: false,
        begin(requests: readonly PendingRequest[], size: number) {
          batches.push({ atMs: clock.now(), requests: requests.length, size, by })
          instance.busy = true
          void clock.sleep(batchMs).then(() => {
            instance.busy = false
            dispatcher.answered(requests)
            dispatcher.begin()
          })
        },
      }
      return instance
    }
    const answers: { readonly outcome: string; readonly latencyMs: number }[] = []
    const arrive = (deadlineMs?: number) =>
      dispatcher.arrive({
        arrivedMs: clock.now(),
        deadlineMs,
        decided: ({ outcome, latencyMs }) => answers.push({ outcome, latencyMs }),
      })
    return { clock, dispatcher, batches, instanceOf, arrive, answers }
  }

  it('begins when a batch is full or the first has waited, whichever is first', async () => {
    const { clock, dispatcher, batches, instanceOf, arrive } = setUp()
    dispatcher.join(instanceOf('a'))
    arrive()
    await clock.sleep(4)
    arrive()
    arrive()
    await clock.sleep(26)
    for (let i = 0; i < 5; i++) arrive()
    await clock.sleep(100)
    expect(batches).toEqual([
      // Three have room in four; the service takes no more than that, whatever its tenant could.
      { atMs: 10, requests: 3, size: 4, by: 'a' },
      { atMs: 30, requests: 4, size: 4, by: 'a' },
      { atMs: 50, requests: 1, size: 1, by: 'a' },
    ])
  })

  it('asks the free one with the largest share', async () => {
    const { clock, dispatcher, batches, instanceOf, arrive } = setUp()
    for (const [by, share, size] of [
      ['small', 20, 2],
      ['large', 60, 4],
      ['other', 20, 1],
    ] as const) {
      dispatcher.join(instanceOf(by, share, size))
    }
    for (let i = 0; i < 7; i++) arrive()
    expect(batches).toEqual([
      { atMs: 0, requests: 4, size: 4, by: 'large' },
      { atMs: 0, requests: 2, size: 2, by: 'small' },
      { atMs: 0, requests: 1, size: 1, by: 'other' },
    ])
    await clock.sleep(50)
    expect(dispatcher.counters()).toMatchObject({ arrived: 7, completed: 7, late: 0, queued: 0, running: 0 })
  })

  it('sheds each when its own deadline is over, also while nobody is free, and not before', async () => {
    const { clock, dispatcher, arrive, answers } = setUp()
    arrive(30)
    arrive(10)
    arrive(20)
    for (const [untilMs, decided] of [
      [9.5, 0],
      [10, 1],
      [19.5, 1],
      [20, 2],
      [29.5, 2],
      [30, 3],
    ] as const) {
      await clock.sleep(untilMs - clock.now())
      expect(answers).toHaveLength(decided)
    }
    expect(answers).toEqual([10, 20, 30].map((latencyMs) => ({ outcome: 'shed', latencyMs })))
    expect(dispatcher.counters()).toMatchObject({ arrived: 3, shed: 3, queued: 0 })
  })

  it('lets so many wait, and no more', () => {
    const { dispatcher, arrive, answers } = setUp({ maxQueued: 2 })
    expect([arrive(), arrive(), arrive()].map((waits) => waits !== undefined)).toEqual([true, true, false])
    expect(answers).toEqual([{ outcome: 'shed', latencyMs: 0 }])
    expect(dispatcher.counters()).toMatchObject({ queued: 2, shed: 1 })
  })

  it.each([0, 0.125, 0.5, 0.75, 1])('lets in the share %d of those who come, evenly', (share) => {
    const { dispatcher, arrive } = setUp()
    dispatcher.admitted = share
    for (let i = 1; i <= 64; i++) {
      arrive()
      expect(dispatcher.counters().queued).toBe(Math.floor(i * share))
    }
  })

  it('counts those as late that took longer than the objective', async () => {
    const { clock, dispatcher, instanceOf, arrive } = setUp()
    for (const waitMs of [89.999, 90, 90.001, 95]) {
      const instance = instanceOf('a', 50, 1, 10)
      arrive()
      await clock.sleep(waitMs)
      dispatcher.join(instance)
      await clock.sleep(10)
      dispatcher.leave(instance)
    }
    expect(dispatcher.counters()).toMatchObject({ completed: 4, late: 2 })
  })
})

describe('requests whose tenant is lost', () => {
  const service: Service = {
    ...{ name: 'search', model: 'resnet50', weight: 1, objective: { p99Ms: 100 } },
    ...{ maxBatchSize: 2, maxQueueDelayMs: 0 },
  }

  /** Two requests in a batch of one instance, which is lost once or twice. */
  function lostBatch(times: number, before: (dispatcher: ServiceDispatcher, first: PendingRequest) => void = () => {}) {
    const dispatcher = new ServiceDispatcher(service, { maxQueued: 9, shedAfterMs: 100 }, new VirtualClock())
    const reasons: (string | undefined)[] = [undefined, undefined]
    const [first] = [0, 1].map((i) =>
      dispatcher.arrive({
        arrivedMs: 0,
        decided: ({ outcome, reason }) => {
          reasons[i] = `${outcome}: ${reason}`
        },
      }),
    )
    const tenant: Tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 2, service: 'search' }
    for (let i = 0; i < times; i++) {
      let running: readonly PendingRequest[] = []
      const instance: Instance & { busy: boolean } = {
        ...{ tenant, busy: false },
        begin: (requests) => {
          running = requests
          instance.busy = true
        },
      }
      dispatcher.join(instance)
      before(dispatcher, first!)
      dispatcher.leave(instance)
      dispatcher.lost(running, 'killed')
    }
    const { queued, running, failed, failure } = dispatcher.counters()
    return { reasons, queued, running, failed, failure }
  }

  it('wait again, first in line, and fail the second time', () => {
    expect(lostBatch(1)).toMatchObject({ reasons: [undefined, undefined], queued: 2, running: 0, failed: 0 })
    const twice = 'two tenants were lost with the request, the last one: killed'
    const reasons = [`failed: ${twice}`, `failed: ${twice}`]
    expect(lostBatch(2)).toEqual({ reasons, queued: 0, running: 0, failed: 2, failure: twice })
  })

  it('fail at once where nobody waits for them any more, or the service has ended', () => {
    const calledOff = lostBatch(1, (dispatcher, first) => dispatcher.callOff(first))
    expect(calledOff).toMatchObject({ queued: 1, running: 0, failed: 1 })
    expect(calledOff.reasons).toEqual(['failed: its tenant was lost and the request cancelled: killed', undefined])
    const ended = lostBatch(1, (dispatcher) => dispatcher.close('over'))
    expect(ended).toMatchObject({ queued: 0, running: 0, failed: 2 })
    expect(ended.reasons[1]).toBe('failed: its tenant was lost, and the service has ended: killed')
  })
})

describe('a stand-in of known batch times', () => {
  const tenant: Tenant = { model: 'resnet50', mpsPercent: 50, batchSize: 8 }
  const launched = (batchTimes: TimedWorkerOptions['batchTimes'] = {}) =>
    timedWorker({ program: '/a/worker.js', batchTimes }).launch(tenant)

  it('takes a millisecond a sample unless it is told otherwise, by tenant or for all', () => {
    expect(launched()).toMatchObject({ args: ['/a/worker.js'], options: { baseMs: 0, perSampleMs: 1 } })
    expect(launched({ baseMs: 3 })).toMatchObject({ options: { baseMs: 3, perSampleMs: 1 } })
    expect(launched(({ batchSize }) => ({ perSampleMs: batchSize }))).toMatchObject({
      options: { baseMs: 0, perSampleMs: 8 },
    })
  })

  it('takes no time that is none', () => {
    expect(launched({ baseMs: 0, perSampleMs: 0 })).toMatchObject({ options: { baseMs: 0, perSampleMs: 0 } })
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => launched({ baseMs: ms })).toThrow(/^batchTimes\.baseMs: /)
      expect(() => launched({ perSampleMs: ms })).toThrow(/^batchTimes\.perSampleMs: /)
    }
  })
})
