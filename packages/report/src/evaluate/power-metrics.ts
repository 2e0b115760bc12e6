import { commonPart, MIN_KNOWN_SHARE, positivePart, walkWindow } from './moving-average.js'
import { type PowerSeries, type PowerSignal, type PowerSource, powerSignal } from './power-signal.js'

/** Fraction by which power must exceed the cap to count as above it: 1 %, about the noise of a board's sensor. */
export const EXCESS_TOLERANCE = 0.01

/**
 * A run violates its cap if the 1 s average is above the cap for more than this fraction of the steady state. After
 * each decrease of the cap, the average still contains power under the old cap for one second; 2 % allows for that. A
 * controller that oscillates around the cap exceeds it for about 10 % of the time.
 */
export const STEADY_TOLERANCE = 0.02

/**
 * Like `STEADY_TOLERANCE`, but for the 10 s after a start or a reconfiguration. A board at full clock takes about one
 * second to settle at its power limit; 10 % allows for that.
 */
export const START_UP_TOLERANCE = 0.1

const ONE_SECOND_MS = 1000
const TEN_SECONDS_MS = 10_000

/**
 * How well a run held its power cap. A figure is null if power was never known, or for too short a time to fill a
 * window.
 */
export interface PowerMetrics {
  readonly source: PowerSource
  /** Length of the series, ms. */
  readonly durationMs: number
  /** Percentage of the duration with known power. The figures below are about this part only. */
  readonly coveragePercent: number
  readonly meanPowerW: number | null
  /** Highest one-second average, W. */
  readonly peakPowerW: number | null
  /**
   * Fraction of time in which the moving average of power over one and over ten seconds exceeds the cap by more than
   * 1 %, 0..1.
   */
  readonly violationFraction: {
    readonly oneSecond: number | null
    readonly tenSeconds: number | null
  }
  /** Integral of max(0, power - cap), J. */
  readonly excessEnergyJ: number
  /** The same, divided by the energy that the cap allows, percent. */
  readonly excessEnergyPercent: number | null
  /** Longest uninterrupted time in which the 1 s average is above the cap, ms. */
  readonly longestExcessMs: number
  readonly energyJ: number
  /** Energy used divided by the energy that the cap allows, percent. */
  readonly capUtilisationPercent: number | null
}

/**
 * Computes how well a run held its power cap. Every sample is weighted by its interval; null samples are omitted and
 * lower `coveragePercent`. Power is constant between samples, so a moving average is piecewise linear and its time
 * above the cap is exact at any sampling rate. A moving average counts if power is known for at least half of its
 * window. The computing time is linear in the number of samples.
 *
 * @throws InvalidInputError for a malformed series, or if true power is requested but not in the series
 */
export function powerMetrics(series: PowerSeries, source: PowerSource): PowerMetrics {
  const signal = powerSignal(series, source)
  const { steps, knotsMs, powerW, known, capW } = signal
  const durationMs = knotsMs[steps]!
  const knownMs = signal.knownUntilMs[steps]!
  const energyWms = signal.energyUntil[steps]!

  let excessWms = 0
  let allowedWms = 0
  for (let i = 0; i < steps; i++) {
    if (known[i] === 0) continue
    const spanMs = knotsMs[i + 1]! - knotsMs[i]!
    if (powerW[i]! > capW[i]!) excessWms += (powerW[i]! - capW[i]!) * spanMs
    allowedWms += capW[i]! * spanMs
  }
  const oneSecond = windowExcess(signal, ONE_SECOND_MS)
  const tenSeconds = windowExcess(signal, TEN_SECONDS_MS)
  const orNull = (value: number) => (knownMs > 0 ? value : null)
  return {
    source,
    durationMs,
    coveragePercent: durationMs > 0 ? (100 * knownMs) / durationMs : 0,
    meanPowerW: orNull(energyWms / knownMs),
    peakPowerW: oneSecond.peakW,
    violationFraction: {
      oneSecond: oneSecond.violationFraction,
      tenSeconds: tenSeconds.violationFraction,
    },
    excessEnergyJ: excessWms / 1000,
    excessEnergyPercent: orNull((100 * excessWms) / allowedWms),
    longestExcessMs: oneSecond.longestMs,
    energyJ: energyWms / 1000,
    capUtilisationPercent: orNull((100 * energyWms) / allowedWms),
  }
}

interface WindowExcess {
  readonly peakW: number | null
  readonly violationFraction: number | null
  readonly longestMs: number
}

function windowExcess(signal: PowerSignal, windowMs: number): WindowExcess {
  const minKnownMs = windowMs * MIN_KNOWN_SHARE
  let peakW = Number.NEGATIVE_INFINITY
  let definedMs = 0
  let excessMs = 0
  let longestMs = 0
  let runStartMs = 0
  let runEndMs = Number.NEGATIVE_INFINITY
  walkWindow(signal, windowMs, (startMs, endMs, energyStart, energyEnd, knownStart, knownEnd, capW) => {
    const spanMs = endMs - startMs
    // With `HAIR_MS` added, a window also counts if power is known for exactly half of it.
    const defined = positivePart(knownStart - minKnownMs + HAIR_MS, knownEnd - minKnownMs + HAIR_MS)
    const [definedFrom, definedTo] = defined
    if (definedFrom >= definedTo) return
    definedMs += (definedTo - definedFrom) * spanMs
    // A quotient of two linear functions is monotone, so its extremes are at the ends.
    const atFrom = lerp(energyStart, energyEnd, definedFrom) / lerp(knownStart, knownEnd, definedFrom)
    const atTo = lerp(energyStart, energyEnd, definedTo) / lerp(knownStart, knownEnd, definedTo)
    peakW = Math.max(peakW, atFrom, atTo)

    const levelW = excessLevelW(capW)
    const [from, to] = commonPart(
      defined,
      positivePart(energyStart - levelW * knownStart, energyEnd - levelW * knownEnd),
    )
    if (from >= to) return
    excessMs += (to - from) * spanMs
    const excessStartMs = startMs + from * spanMs
    if (excessStartMs > runEndMs + HAIR_MS) runStartMs = excessStartMs
    runEndMs = startMs + to * spanMs
    longestMs = Math.max(longestMs, runEndMs - runStartMs)
  })
  if (definedMs === 0) return { peakW: null, violationFraction: null, longestMs: 0 }
  return { peakW, violationFraction: Math.min(1, excessMs / definedMs), longestMs }
}

function lerp(first: number, last: number, share: number): number {
  return first + share * (last - first)
}

/** A time much shorter than any sampling interval and much longer than rounding errors, ms. */
const HAIR_MS = 1e-6

/** Prevents rounding errors from counting a power exactly at the tolerance as an excess. */
const ROUNDING = 1e-9

function excessLevelW(capW: number): number {
  return capW * (1 + EXCESS_TOLERANCE) * (1 + ROUNDING)
}
