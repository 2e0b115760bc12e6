import type { PowerSignal } from './power-signal.js'
import { settlingTimes } from './settling-time.js'

/** How power responds to one change of the cap. All averages are over one second. */
export interface CapStepResponse {
  readonly atMs: number
  readonly fromW: number
  readonly toW: number
  /**
   * Time from the change until average power enters [95 %, 101 %] of the cap and stays there for 30 s, ms. Null if it
   * never does, or if the load draws less than the cap.
   */
  readonly settlingMs: number | null
  /** The same time with the band [97 %, 101 %] of the cap, ms. */
  readonly settlingThreePercentMs: number | null
  /**
   * After an increase of the cap: time until average power first reaches 95 % of the cap, ms. Null after a decrease, or
   * if power does not reach it.
   */
  readonly riseMs: number | null
  /** Energy above the new cap in the 30 s after the change, J. */
  readonly excessEnergyJ: number
  /** Longest uninterrupted time within these 30 s in which average power is more than 1 % above the cap, ms. */
  readonly longestExcessMs: number
}

const AFTERMATH_MS = 30_000
const TOLERANCE = 0.01

/** @param averagesW one-second average at the end of each step of the signal, W */
export function capStepResponses(signal: PowerSignal, averagesW: Float64Array): CapStepResponse[] {
  const five = settlingTimes(signal, 1000, { below: 0.05, above: TOLERANCE, holdMs: AFTERMATH_MS })
  const three = settlingTimes(signal, 1000, { below: 0.03, above: TOLERANCE, holdMs: AFTERMATH_MS })
  return five.map(({ atMs, fromW, toW, settlingMs }, i) => ({
    atMs,
    fromW,
    toW,
    settlingMs,
    settlingThreePercentMs: three[i]!.settlingMs,
    ...aftermath(signal, averagesW, atMs, fromW, toW),
  }))
}

function aftermath(signal: PowerSignal, averagesW: Float64Array, atMs: number, fromW: number, toW: number) {
  let riseMs: number | null = null
  let excessWms = 0
  let longestExcessMs = 0
  let excessMs = 0
  for (let i = 0; i < signal.steps; i++) {
    const startMs = signal.knotsMs[i]!
    const endMs = signal.knotsMs[i + 1]!
    if (endMs <= atMs) continue
    if (startMs >= atMs + AFTERMATH_MS || signal.capW[i] !== toW) break
    const spanMs = endMs - Math.max(startMs, atMs)
    excessWms += signal.known[i]! * Math.max(0, signal.powerW[i]! - toW) * spanMs
    const averageW = averagesW[i]!
    if (Number.isNaN(averageW)) continue
    excessMs = averageW > toW * (1 + TOLERANCE) ? excessMs + spanMs : 0
    longestExcessMs = Math.max(longestExcessMs, excessMs)
    if (toW > fromW && riseMs === null && averageW >= 0.95 * toW) riseMs = endMs - atMs
  }
  return { riseMs, excessEnergyJ: excessWms / 1000, longestExcessMs }
}
