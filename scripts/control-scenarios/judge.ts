import { movingAverageW, powerSignal, type RunRecording } from '@pctodl/report/evaluate'

/** How a run held its cap, by the board's true power. */
export interface CapJudgement {
  /**
   * Share of the time with the one-second average more than 1 % above the cap, percent, without excess that no
   * controller can avoid: an average that contains time before a step down, or the first 0.2 s after it (one sample and
   * one clock request), is compared with the earlier cap.
   */
  readonly avoidablePercent: number
  /** Longest continuous avoidable time above the cap, ms. */
  readonly longestMs: number
  /** Highest avoidable excess of the one-second average, percent of the cap. */
  readonly peakPercent: number
}

const WINDOW_MS = 1000
const TOLERANCE = 1.01
const ANSWER_MS = 200

export function judgeCap(recording: RunRecording): CapJudgement {
  const signal = powerSignal(recording.power, 'true')
  const averagesW = movingAverageW(signal, WINDOW_MS)
  let avoidableMs = 0
  let stayMs = 0
  let longestMs = 0
  let peak = 0
  let knownMs = 0
  let oldest = 0
  for (let i = 0; i < signal.steps; i++) {
    const averageW = averagesW[i]!
    if (Number.isNaN(averageW)) continue
    const endMs = signal.knotsMs[i + 1]!
    const spanMs = endMs - signal.knotsMs[i]!
    while (signal.knotsMs[oldest + 1]! <= endMs - WINDOW_MS - ANSWER_MS) oldest++
    let allowedW = signal.capW[i]!
    for (let j = oldest; j < i; j++) allowedW = Math.max(allowedW, signal.capW[j]!)
    knownMs += spanMs
    peak = Math.max(peak, averageW / allowedW - 1)
    if (averageW > TOLERANCE * allowedW) {
      avoidableMs += spanMs
      stayMs += spanMs
      longestMs = Math.max(longestMs, stayMs)
    } else stayMs = 0
  }
  return {
    avoidablePercent: (100 * avoidableMs) / Math.max(1, knownMs),
    longestMs,
    peakPercent: 100 * peak,
  }
}
