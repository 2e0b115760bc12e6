import fc from 'fast-check'
import { type ClockAction, ClockController, type ClockObservation } from '../src/index.js'
import { modelAt, type Reading, readings } from './law-stories.js'
import { clocksMhz, ToyBoard } from './toy-board.js'

/** Time after which a stalled tenant is noticed, ms. */
const NOTICE_MS = 300
/** Full load, a prompt sensor and setters that are taken, ms: after everything else. */
const CALM_MS = 30_000
const STEP_MS = 100

const kinds = ['refused', 'lost', 'throttled', 'cap', 'late', 'pause', 'part', 'heavier', 'frozen', 'missing'] as const

/** A disturbance, with the time at which it starts and its duration. */
export interface Disturbance {
  readonly kind: (typeof kinds)[number]
  readonly atMs: number
  readonly durationMs: number
  /** Relative size of the clock, cap, delay or load, 0..1. */
  readonly size: number
}

export interface DisturbedStory {
  readonly seed: number
  /** True power over the model's. */
  readonly gain: number
  readonly reading: Reading
  /** Cap after everything, W. */
  readonly capW: number
  readonly disturbances: readonly Disturbance[]
}

const tenths = (min: number, max: number) => fc.integer({ min, max }).map((each) => STEP_MS * each)

export const disturbedStories: fc.Arbitrary<DisturbedStory> = fc.record({
  seed: fc.integer({ min: 1, max: 10_000 }),
  gain: fc.integer({ min: 70, max: 140 }).map((percent) => percent / 100),
  reading: readings,
  capW: fc.integer({ min: 130, max: 200 }),
  disturbances: fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      atMs: tenths(30, 300),
      durationMs: tenths(2, 120),
      size: fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
    }),
    { minLength: 2, maxLength: 7 },
  ),
})

export interface DisturbedRun {
  /** Time from the end of all disturbances until the clock stays within 97 % of the best clock's power, ms. */
  readonly backMs: number
  /** Percentage of the calm time in which the true one-second mean is more than 1 % above the cap. */
  readonly abovePercent: number
}

/** Runs the disturbances and a calm time after them. */
export function liveDisturbed({ seed, gain, reading, capW, disturbances }: DisturbedStory): DisturbedRun {
  const controller = new ClockController({
    smClocksMhz: clocksMhz,
    reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
  })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard({ seed, truth: (modelW) => gain * modelW, instantNoiseW: 1 }, modelAt)
  const calmMs = Math.max(...disturbances.map(({ atMs, durationMs }) => atMs + durationMs))
  const bestW = Math.max(...clocksMhz.map((mhz) => gain * modelAt(mhz)).filter((powerW) => powerW <= capW))
  const asked: number[] = []
  let read: ReturnType<ToyBoard['read']>[] = []
  let held = { powerAverageW: null, powerInstantW: null } as ReturnType<ToyBoard['read']>
  let workedMs = 0
  let aboveSteps = 0
  let last: ClockAction | undefined
  let lostMhz: number | null = null
  for (let timeMs = 0; timeMs < calmMs + CALM_MS; timeMs += STEP_MS) {
    const sizeOf = (kind: Disturbance['kind']): number | null =>
      disturbances.find((each) => each.kind === kind && timeMs >= each.atMs && timeMs < each.atMs + each.durationMs)
        ?.size ?? null
    const refused = sizeOf('refused') !== null
    const lost = sizeOf('lost')
    const throttled = sizeOf('throttled')
    const pause = sizeOf('pause')
    const part = sizeOf('part')
    board.activity = pause !== null ? 0 : part !== null ? part : 1
    board.loadFactor = 1 + 0.5 * (sizeOf('heavier') ?? 0)
    if (board.activity === 1) workedMs = timeMs
    if (lost !== null) lostMhz ??= clocksMhz[Math.floor(lost * 80)]!
    else lostMhz = null
    if (lostMhz !== null) board.clockMhz = lostMhz
    const roofMhz = throttled === null ? Number.POSITIVE_INFINITY : clocksMhz[Math.floor(throttled * 80)]!
    board.clockMhz = Math.min(board.clockMhz, roofMhz)
    read.push(board.read(reading))
    const late = Math.round(20 * (sizeOf('late') ?? 0))
    const newest = read.at(-1 - late) ?? { powerAverageW: null, powerInstantW: null }
    if (sizeOf('frozen') === null) held = newest
    if (sizeOf('missing') !== null) held = { powerAverageW: null, powerInstantW: null }
    if (read.length > 30) read = read.slice(-25)
    const seen: ClockObservation = {
      timeMs,
      powerCapW: sizeOf('cap') === null ? capW : 90 + 130 * sizeOf('cap')!,
      ...held,
      smClockMhz: board.clockMhz,
      loading: false,
      refused: refused && last !== undefined && board.clockMhz !== last.smClockMhz,
      throttled: board.clockMhz === roofMhz,
      activeShare: timeMs - workedMs <= NOTICE_MS ? 1 : (part ?? 0),
      stallNoticeMs: NOTICE_MS,
    }
    const action = controller.step(seen)
    last = action
    if (!refused && lostMhz === null) board.request(Math.min(action.smClockMhz, roofMhz))
    for (let i = 0; i < 10; i++) board.tick()
    if (timeMs < calmMs) continue
    asked.push(action.smClockMhz)
    if (timeMs >= calmMs + 1500 && board.secondW > 1.01 * capW) aboveSteps++
  }
  const low = asked.findLastIndex((mhz) => gain * modelAt(mhz) < 0.97 * bestW)
  return { backMs: STEP_MS * (low + 1), abovePercent: (100 * aboveSteps) / asked.length }
}
