import fc from 'fast-check'
import { type ClockAction, ClockController, type ClockObservation } from '../src/index.js'
import { clocksMhz, modelAt, ToyBoard } from './toy-board.js'

export { modelAt }

export type Reading = 'both' | 'one-second-average' | 'part-time'
export const readings: fc.Arbitrary<Reading> = fc.constantFrom('both', 'one-second-average', 'part-time')

/** A phase of a run: load and cap. */
const stretch = fc.record({
  durationMs: fc.integer({ min: 5, max: 80 }).map((tenths) => 100 * tenths),
  activity: fc.oneof(
    { weight: 2, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 0.9, noNaN: true }) },
  ),
  loadFactor: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.double({ min: 0.6, max: 1.6, noNaN: true })),
  powerCapW: fc.oneof({ weight: 2, arbitrary: fc.constant(150) }, fc.integer({ min: 90, max: 220 })),
})

export interface Story {
  readonly seed: number
  /** True power over the model's. */
  readonly gain: number
  readonly reading: Reading
  /** The firmware limits the clock to this value now and then; null for no limit. */
  readonly heldMhz: number | null
  /** True if the board's own power limit is set to the cap. */
  readonly limited: boolean
  /** Fraction of the samples that never arrive. */
  readonly dropped: number
  readonly stretches: readonly {
    readonly durationMs: number
    readonly activity: number
    readonly loadFactor: number
    readonly powerCapW: number
  }[]
}

export const stories: fc.Arbitrary<Story> = fc.record({
  seed: fc.integer({ min: 1, max: 10_000 }),
  gain: fc.double({ min: 0.6, max: 1.9, noNaN: true }),
  reading: readings,
  heldMhz: fc.option(fc.constantFrom(...clocksMhz.slice(10, 60)), { nil: null, freq: 2 }),
  limited: fc.boolean(),
  dropped: fc.constantFrom(0, 0, 0.1),
  stretches: fc.array(stretch, { minLength: 3, maxLength: 10 }),
})

export interface Moment {
  readonly timeMs: number
  readonly seen: ClockObservation
  readonly action: ClockAction
  /** True mean over the last second, W. */
  readonly secondW: number
  /** Mean of the last second's readings, W: of the board's last three averages, or of ten instant readings. */
  readonly readW: number | null
  /** True if the mean is that of instant readings. */
  readonly sampled: boolean
  /** True at full load, if the firmware has not chosen the clock. */
  readonly free: boolean
}

/** Runs all phases, and a last phase of full load that is long enough to settle. */
export function live({ seed, gain, reading, heldMhz, limited, dropped, stretches }: Story): Moment[] {
  const controller = new ClockController({
    smClocksMhz: clocksMhz,
    reading: reading === 'part-time' ? 'part-time' : 'one-second-average',
  })
  controller.setPlant(clocksMhz.map(modelAt))
  const board = new ToyBoard({ seed, truth: (modelW) => gain * modelW, instantNoiseW: 1, dropped }, modelAt)
  const moments: Moment[] = []
  const counted = reading === 'part-time' ? 10 : 3
  const lastReadings: (number | null)[] = []
  const last = { durationMs: 40_000, activity: 1, loadFactor: 1, powerCapW: stretches.at(-1)!.powerCapW }
  for (const { durationMs, activity, loadFactor, powerCapW } of [...stretches, last]) {
    board.activity = activity
    board.loadFactor = loadFactor
    for (const endMs = board.timeMs + durationMs; board.timeMs < endMs; ) {
      const timeMs = board.timeMs
      const heldNow = heldMhz !== null && Math.floor(timeMs / 3000) % 2 === 0
      const withinLimit = (mhz: number) => !limited || gain * modelAt(mhz) * loadFactor <= powerCapW
      const fitMhz = activity === 1 ? (clocksMhz.findLast(withinLimit) ?? clocksMhz[0]!) : clocksMhz.at(-1)!
      const roofMhz = heldNow ? Math.min(fitMhz, heldMhz) : fitMhz
      const held = board.clockMhz > roofMhz || (moments.at(-1)?.action.smClockMhz ?? 0) > roofMhz
      board.clockMhz = Math.min(board.clockMhz, roofMhz)
      const read = board.read(reading)
      lastReadings.push(read.powerAverageW)
      if (lastReadings.length > counted) lastReadings.shift()
      const seen = {
        timeMs,
        powerCapW,
        ...read,
        smClockMhz: board.clockMhz,
        loading: false,
        throttled: held,
        activeShare: activity < 1 ? 0.5 : 1,
        stallNoticeMs: 300,
        powerLimitW: limited ? powerCapW : null,
      }
      const action = controller.step(seen)
      board.request(Math.min(action.smClockMhz, roofMhz))
      const known = lastReadings.filter((powerW) => powerW !== null)
      const readW = known.length < counted ? null : known.reduce((sum, powerW) => sum + powerW, 0) / counted
      const free = activity === 1 && !held
      moments.push({ timeMs, seen, action, secondW: board.secondW, readW, sampled: reading === 'part-time', free })
      for (let i = 0; i < 10; i++) board.tick()
    }
  }
  return moments
}
