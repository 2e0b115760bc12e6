import { loadPerfModel } from '@pctodl/perf-model'
import { smClocksAt } from '@pctodl/platform'
import { type Action, planPartition, type SampleObservation, type WindowObservation } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { PublishedPolicy } from '../src/index.js'

const predictor = loadPerfModel('3080Ti')
const model = 'resnet50'
const planned = (powerCapW: number) => planPartition(predictor, { model, powerCapW })
const WINDOW_MS = 5000

/** What is locked, MHz. */
const clockOf = (action: Action | undefined): number => action!.smClockMhz as number

/** A policy on a board whose sensor returns the given readings, window after window. */
class Windows {
  readonly policy = new PublishedPolicy({ predictor, model })
  #count = 0

  /** @param readings one for each second of the window, W; null if none arrived */
  read(...readings: readonly (number | null)[]): Action | undefined {
    const startMs = this.#count * WINDOW_MS
    readings.forEach((powerAverageW, i) => {
      this.policy.onSample({ timeMs: startMs + 1000 * i, telemetry: { powerAverageW } } as SampleObservation)
    })
    this.#count++
    return this.policy.onWindow({ endMs: startMs + WINDOW_MS } as WindowObservation)
  }

  /** The next clock if all readings of a window are equal. */
  clockAt(powerW: number): number {
    return clockOf(this.read(...new Array(5).fill(powerW)))
  }
}

describe('the published policy', () => {
  const clocksMhz = smClocksAt(predictor.spec, planned(250).memClockMhz)!

  it('starts with the plan for the first cap', () => {
    const { policy } = new Windows()
    expect(policy.start(250)).toEqual({ ...planned(250), reason: 'plan for the first cap' })
  })

  it('moves by one clock near its cap, each time from where it is', () => {
    const windows = new Windows()
    windows.policy.start(250)
    const first = windows.clockAt(248)
    const index = clocksMhz.indexOf(first)
    expect(index).toBeGreaterThan(2)
    expect([windows.clockAt(248), windows.clockAt(252), windows.clockAt(252)]).toEqual([
      clocksMhz[index + 1],
      clocksMhz[index],
      clocksMhz[index - 1],
    ])
  })

  it('judges a window by its highest power, without its first two seconds', () => {
    const lowered = (...readings: readonly (number | null)[]) => {
      const windows = new Windows()
      windows.policy.start(250)
      const before = windows.clockAt(248)
      return clockOf(windows.read(...readings)) < before
    }
    expect(lowered(240, 240, 248, 252, 248)).toBe(true)
    expect(lowered(300, 300, 248, 248, 248)).toBe(false)
  })

  it.each([null, 0])('takes a window that reads %s W for full headroom', (powerW) => {
    const windows = new Windows()
    windows.policy.start(250)
    const before = windows.clockAt(252)
    expect(clockOf(windows.read(powerW, powerW, powerW, powerW, powerW))).toBeGreaterThan(before)
  })

  it('adopts the plan for a new cap at the end of a window, once', () => {
    const windows = new Windows()
    windows.policy.start(250)
    windows.clockAt(248)
    windows.policy.onCapChange(200)
    expect(windows.read(248, 248, 248, 248, 248)).toEqual({ ...planned(200), reason: 'plan for the new cap' })
    expect(windows.read(199, 199, 199, 199, 199)!.reason).toBe('published three-stage law')
  })

  it('goes on by its law where no plan keeps the new cap', () => {
    const windows = new Windows()
    windows.policy.start(250)
    const before = windows.clockAt(252)
    windows.policy.onCapChange(20)
    const action = windows.read(250, 250, 250, 250, 250)!
    expect(action).toMatchObject({ reason: 'published three-stage law' })
    expect(clockOf(action)).toBeLessThan(before)
  })
})
