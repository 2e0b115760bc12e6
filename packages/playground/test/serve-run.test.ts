import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { PacedRun } from '../site/run/paced-run.js'
import type { RunFrame } from '../site/run/run-frame.js'
import { controlRun, recordOfRun, serveRun } from '../site/run/serve-run.js'

/** A run that goes to where it is allowed at once, and notes what is done to it. */
function obedientRun() {
  const done: unknown[] = []
  let end = () => {}
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  let frame: RunFrame | undefined
  const run = {
    timeMs: 0,
    allow: (untilMs: number) => {
      run.timeMs = Math.max(run.timeMs, untilMs)
    },
    hold: () => done.push('hold'),
    changeCaps: (caps: unknown) => done.push(['caps', caps]),
    disturb: (disturbance: unknown) => done.push(['disturb', disturbance]),
    burst: (atS: number) => done.push(['burst', atS]),
    frame: () => {
      const taken = frame
      frame = undefined
      return taken
    },
    record: () => 'the record\n',
    run: async (signal: AbortSignal) => {
      await over
      signal.throwIfAborted()
      return { notes: ['done'] }
    },
  }
  const show = (text: string) => {
    frame = { readings: [], windows: [], said: [{ timeMs: 0, text }], services: [] }
  }
  return { run: run as typeof run & PacedRun, done, end, show }
}

describe('a run in a worker', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function serve(pace: number) {
    const made = obedientRun()
    const frames: RunFrame[] = []
    const outcome = serveRun(made.run, pace, {
      signal: new AbortController().signal,
      progress: (frame) => frames.push(frame),
    })
    return { ...made, frames, outcome }
  }

  it('goes at its pace, stands still where it is paused or held, and goes on from there', async () => {
    const { run, done, end, outcome } = serve(10)
    vi.advanceTimersByTime(1000)
    expect(run.timeMs).toBe(10_000)
    expect(controlRun({ pace: 0 })).toBe(10_000)
    vi.advanceTimersByTime(1000)
    expect(run.timeMs).toBe(10_000)
    controlRun({ pace: 100 })
    vi.advanceTimersByTime(500)
    expect(run.timeMs).toBe(60_000)
    controlRun({ hold: true })
    vi.advanceTimersByTime(1000)
    expect(run.timeMs).toBe(60_000)
    controlRun({ hold: false })
    vi.advanceTimersByTime(100)
    expect(run.timeMs).toBe(70_000)
    expect(done).toEqual(['hold', 'hold', 'hold', 'hold'])
    end()
    expect(await outcome).toEqual({ notes: ['done'] })
    vi.advanceTimersByTime(1000)
    expect(run.timeMs).toBe(70_000)
  })

  it('does not run away where the page slept or the machine is slow', async () => {
    const { run, end, outcome } = serve(1)
    vi.setSystemTime(Date.now() + 3_600_000)
    vi.advanceTimersByTime(25)
    expect(run.timeMs).toBeLessThanOrEqual(275)
    end()
    await outcome
    const slow = serve(100)
    const allowed: number[] = []
    slow.run.allow = (untilMs) => allowed.push(untilMs)
    vi.advanceTimersByTime(10_000)
    // It has come to 0 ms: a second, and one turn, are all that it may be ahead.
    expect(Math.max(...allowed)).toBe(1000 + 250 * 100)
    slow.end()
    await slow.outcome
  })

  it('hands on what is done to it, and tells what has happened, at its end too', async () => {
    const { done, end, show, frames, outcome } = serve(1)
    controlRun({ caps: [{ atS: 0, powerCapW: 200 }] })
    controlRun({ disturb: { kind: 'kill', atS: 3 } })
    controlRun({ burst: 7 })
    expect(done).toEqual([
      ['caps', [{ atS: 0, powerCapW: 200 }]],
      ['disturb', { kind: 'kill', atS: 3 }],
      ['burst', 7],
    ])
    expect(recordOfRun()).toBe('the record\n')
    show('first')
    vi.advanceTimersByTime(25)
    vi.advanceTimersByTime(100)
    show('last')
    end()
    await outcome
    expect(frames.map(({ said }) => said[0]!.text)).toEqual(['first', 'last'])
  })
})
