import { MIN_KNOWN_SHARE, positiveFrom, positiveTo, walkWindow } from './moving-average.js'
import { type PowerSeries, type PowerSignal, type PowerSource, powerSignal } from './power-signal.js'
import { type SettlingBand, type SettlingTime, settlingTimes } from './settling-time.js'

/** Power counts as above the cap if it exceeds it by more than this share: 1 %, about the noise of a board's sensor. */
export const EXCESS_TOLERANCE = 0.01

/**
 * Share of the steady state during which the 1 s average may be above the cap before a run counts as violating: 2 %.
 * Right after a step down, the average still contains power under the old cap. A controller that oscillates around the
 * cap spends 10 % above it.
 */
export const STEADY_TOLERANCE = 0.02

/**
 * The same for start-up: 10 %, that is, the one second of ten that a board at full clock needs to settle at its limit.
 */
export const START_UP_TOLERANCE = 0.1

/** Settled: from 5 % below the cap to the excess tolerance above it, for at least half a minute. */
export const SETTLING_BAND: SettlingBand = { below: 0.05, above: EXCESS_TOLERANCE, holdMs: 30_000 }

const ONE_SECOND_MS = 1000
const TEN_SECONDS_MS = 10_000

/** How well a run kept to its power cap. Null if no power was known, or too little to fill a window. */
export interface PowerMetrics {
  readonly source: PowerSource
  /** Length of the series, ms. */
  readonly durationMs: number
  /** Share of this time with known power, percent. All figures below refer to the known time. */
  readonly coveragePercent: number
  readonly meanPowerW: number | null
  /** Highest sample, W. */
  readonly rawPeakW: number | null
  /** Highest one-second average, W. */
  readonly peakPowerW: number | null
  /** Share of the time, 0..1, with P > cap * (1 + 1 %), for the raw samples and for their trailing averages. */
  readonly violationFraction: {
    readonly raw: number | null
    readonly oneSecond: number | null
    readonly tenSeconds: number | null
  }
  /** Integral of max(0, P - cap), J. */
  readonly excessEnergyJ: number
  /** Excess energy over the integral of the cap. */
  readonly relativeExcessEnergy: number | null
  /** Longest time with the 1 s average above the cap, ms. */
  readonly longestExcessMs: number
  readonly energyJ: number
  /** Energy used over energy allowed, percent. */
  readonly capUtilisationPercent: number | null
  /** One entry per cap change. */
  readonly settling: readonly SettlingTime[]
}

/**
 * Measures of a controller under a hard power cap. Every sample is weighted by its interval; null samples are omitted
 * and show in `coveragePercent`. Power is piecewise constant, so a moving average is piecewise linear and its time
 * above the cap is exact, whatever the sampling rate. A moving average counts once half of its window is known. Linear
 * in the number of samples.
 *
 * @throws InvalidInputError for a malformed series, or true power of a board that does not know it
 */
export function powerMetrics(series: PowerSeries, source: PowerSource): PowerMetrics {
  const signal = powerSignal(series, source)
  const { steps, knotsMs, powerW, known, capW } = signal
  const durationMs = knotsMs[steps]!
  const knownMs = signal.knownUntilMs[steps]!
  const energyWms = signal.energyUntil[steps]!

  let rawPeakW = Number.NEGATIVE_INFINITY
  let rawExcessMs = 0
  let excessWms = 0
  let allowedWms = 0
  for (let i = 0; i < steps; i++) {
    if (known[i] === 0) continue
    const spanMs = knotsMs[i + 1]! - knotsMs[i]!
    if (powerW[i]! > rawPeakW) rawPeakW = powerW[i]!
    if (powerW[i]! > excessLevelW(capW[i]!)) rawExcessMs += spanMs
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
    rawPeakW: orNull(rawPeakW),
    peakPowerW: oneSecond.peakW,
    violationFraction: {
      raw: orNull(rawExcessMs / knownMs),
      oneSecond: oneSecond.violationFraction,
      tenSeconds: tenSeconds.violationFraction,
    },
    excessEnergyJ: excessWms / 1000,
    relativeExcessEnergy: orNull(excessWms / allowedWms),
    longestExcessMs: oneSecond.longestMs,
    energyJ: energyWms / 1000,
    capUtilisationPercent: orNull((100 * energyWms) / allowedWms),
    settling: settlingTimes(signal, ONE_SECOND_MS, SETTLING_BAND),
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
    // A window that is exactly half known counts, hence the tiny shift.
    const definedFrom = positiveFrom(knownStart - minKnownMs + HAIR_MS, knownEnd - minKnownMs + HAIR_MS)
    const definedTo = positiveTo(knownStart - minKnownMs + HAIR_MS, knownEnd - minKnownMs + HAIR_MS)
    if (definedFrom >= definedTo) return
    definedMs += (definedTo - definedFrom) * spanMs
    // The quotient of two linear functions is monotone, so its extremes are at the ends.
    const atFrom = lerp(energyStart, energyEnd, definedFrom) / lerp(knownStart, knownEnd, definedFrom)
    const atTo = lerp(energyStart, energyEnd, definedTo) / lerp(knownStart, knownEnd, definedTo)
    peakW = Math.max(peakW, atFrom, atTo)

    const levelW = excessLevelW(capW)
    const first = energyStart - levelW * knownStart
    const last = energyEnd - levelW * knownEnd
    const from = Math.max(definedFrom, positiveFrom(first, last))
    const to = Math.min(definedTo, positiveTo(first, last))
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

/** Far below any sampling interval, far above rounding errors. */
const HAIR_MS = 1e-6

/** Keeps rounding errors from turning a power exactly at the tolerance into an excess. */
const ROUNDING = 1e-9

function excessLevelW(capW: number): number {
  return capW * (1 + EXCESS_TOLERANCE) * (1 + ROUNDING)
}
