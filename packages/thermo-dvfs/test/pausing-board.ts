import { ClockController, type ClockObservation } from '../src/index.js'
import { clocksMhz, type Metrics, measure, modelAt, run, ToyBoard } from './toy-board.js'

export { modelAt }

const CAP_W = 150
/** Time after which a stalled tenant is noticed, ms. */
const NOTICE_MS = 300
/** All of them work until then. */
const FIRST_PAUSE_MS = 10_000
const DURATION_MS = 120_000

export interface PausingCase {
  readonly reading: 'both' | 'one-second-average' | 'part-time'
  /** True power over the model's. */
  readonly gain: number
  /** Delay of the readings, ms. Default 0. */
  readonly lagMs?: number
  /** Duration of alternating work and pauses of the load, ms; absent if it works all the time. */
  readonly pauses?: readonly [onMs: number, offMs: number]
  readonly seed?: number
}

export interface PausingRun extends Metrics {
  /** Full-load power of the clocks in the second half, relative to that of the best clock. */
  readonly full: number
}

/** Two minutes under the clock lock alone, with a load that may pause and readings that may be delayed. */
export function pausingRun({ reading, gain, lagMs = 0, pauses, seed = 1 }: PausingCase): PausingRun {
  const averages = reading !== 'part-time'
  const controller = new ClockController({
    smClocksMhz: clocksMhz,
    reading: averages ? 'one-second-average' : 'part-time',
  })
  controller.setPlant(clocksMhz.map(modelAt))
  const truth = (modelW: number) => gain * modelW
  const board = new ToyBoard({ seed, truth, instantNoiseW: 1 }, modelAt)
  const late: ClockObservation[] = []
  let shown: Pick<ClockObservation, 'powerAverageW' | 'powerInstantW'> = { powerAverageW: null, powerInstantW: null }
  let workedMs = 0
  const disturb = (timeMs: number, seen: ClockObservation): ClockObservation => {
    const [onMs, offMs] = pauses ?? [1, 0]
    const works = timeMs < FIRST_PAUSE_MS || timeMs % (onMs + offMs) < onMs
    board.activity = works ? 1 : 0
    if (works) workedMs = timeMs
    late.push(seen)
    while (late[0] && late[0].timeMs <= timeMs - lagMs) shown = late.shift()!
    const { powerAverageW, powerInstantW } = shown
    const activeShare = timeMs - workedMs <= NOTICE_MS ? 1 : 0
    return { ...seen, powerAverageW, powerInstantW, activeShare, stallNoticeMs: NOTICE_MS }
  }
  const trace = run(controller, board, { durationMs: DURATION_MS, reading, capAt: () => CAP_W, disturb })
  const bestW = Math.max(...clocksMhz.map((mhz) => truth(modelAt(mhz))).filter((powerW) => powerW <= CAP_W))
  const half = trace.clockMhz.slice(trace.clockMhz.length / 2)
  const meanW = half.reduce((sum, mhz) => sum + truth(modelAt(mhz)), 0) / half.length
  return { ...measure(trace, 10_000), full: meanW / bestW }
}
