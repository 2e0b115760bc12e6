import { systemClock, VirtualClock } from '@pctodl/platform'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('virtual time', () => {
  it('stands still while code runs and jumps while it waits', async () => {
    const clock = new VirtualClock()
    expect(clock.now()).toBe(0)
    await clock.sleep(3_600_000)
    expect(clock.now()).toBe(3_600_000)
    expect(clock.date().toISOString()).toBe('2026-01-01T01:00:00.000Z')
  })

  it('starts at the date it is given', async () => {
    const clock = new VirtualClock(new Date('2025-06-01T12:00:00Z'))
    await clock.sleep(1500)
    expect(clock.date().toISOString()).toBe('2025-06-01T12:00:01.500Z')
  })

  it('wakes sleepers by time, and at the same time in the order in which they went to sleep', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 12 }), async (durations) => {
        const clock = new VirtualClock()
        const woken: { i: number; at: number }[] = []
        await Promise.all(
          durations.map(async (duration, i) => {
            await clock.sleep(duration)
            woken.push({ i, at: clock.now() })
          }),
        )
        const expected = durations.map((duration, i) => ({ i, at: duration })).sort((a, b) => a.at - b.at || a.i - b.i)
        expect(woken).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('interleaves loops of unlike period as real time would', async () => {
    const clock = new VirtualClock()
    const seen: string[] = []
    const loop = async (name: string, periodMs: number, times: number) => {
      for (let i = 0; i < times; i++) {
        await clock.sleep(periodMs)
        seen.push(`${name}${clock.now()}`)
      }
    }
    await Promise.all([loop('a', 20, 3), loop('b', 30, 2)])
    expect(seen).toEqual(['a20', 'b30', 'a40', 'b60', 'a60'])
  })

  it('takes a negative duration as none', async () => {
    const clock = new VirtualClock()
    await clock.sleep(10)
    await clock.sleep(-5)
    expect(clock.now()).toBe(10)
  })

  it('lets a sleeper be aborted, and does not wait for it', async () => {
    const clock = new VirtualClock()
    const controller = new AbortController()
    const reason = new Error('enough')
    const aborted = expect(clock.sleep(1000, controller.signal)).rejects.toBe(reason)
    const other = clock.sleep(50).then(() => controller.abort(reason))
    await Promise.all([aborted, other])
    await clock.sleep(1)
    expect(clock.now()).toBe(51)
    await expect(clock.sleep(1, controller.signal)).rejects.toBe(reason)
  })
})

describe('system time', () => {
  it('moves on by itself and can be aborted', async () => {
    const before = systemClock.now()
    await systemClock.sleep(5)
    expect(systemClock.now()).toBeGreaterThan(before)
    expect(Math.abs(systemClock.date().getTime() - Date.now())).toBeLessThan(1000)
    const controller = new AbortController()
    const aborted = expect(systemClock.sleep(60_000, controller.signal)).rejects.toThrow('stop')
    controller.abort(new Error('stop'))
    await aborted
    await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  })

  it.each([2 ** 31, 1e12, Number.POSITIVE_INFINITY])(
    'sleeps for longer than a timer lasts: %d ms',
    async (durationMs) => {
      const controller = new AbortController()
      const slept = systemClock.sleep(durationMs, controller.signal)
      const first = await Promise.race([slept, systemClock.sleep(20).then(() => 'it sleeps')])
      expect(first).toBe('it sleeps')
      controller.abort(new Error('stop'))
      await expect(slept).rejects.toThrow('stop')
    },
  )
})
