import type { RingColumn, SampleRing } from './sample-ring.js'
import { integral, type Readings, timeWeightedMean, timeWeightedPercentile } from './time-weighted.js'

/** One quantity over a window. */
export interface QuantitySummary {
  readonly mean: number
  readonly max: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly readings: number
}

export interface EnergySummary {
  /** Difference of the board's counter between its first and its last reading; null with fewer than two. */
  readonly counterJ: number | null
  /** Power integrated over the same time; null where it cannot be. */
  readonly integralJ: number | null
  /** (integral - counter) / counter; null where one of them is missing, or the counter did not move. */
  readonly disagreementPercent: number | null
  /** Which power was integrated: the instant field where the board has it. */
  readonly powerField: 'powerInstantW' | 'powerAverageW'
}

/** What was measured between begin and end. */
export interface MeasuredWindow {
  readonly kind: 'measured'
  readonly name: string
  readonly beginMs: number
  readonly endMs: number
  readonly durationMs: number
  /** From the first to the last sample in the window: everything below is about this time. */
  readonly coveredMs: number
  readonly samples: number
  /** Readings that the cadence called for and that were late, failed or overwritten. */
  readonly missed: number
  /** Longest time without a sample, begin and end included, ms. */
  readonly longestGapMs: number
  /** A quantity of which not one reading succeeded is null. */
  readonly powerAverageW: QuantitySummary | null
  readonly powerInstantW: QuantitySummary | null
  readonly smClockMhz: QuantitySummary | null
  readonly memClockMhz: QuantitySummary | null
  readonly smUtilPercent: QuantitySummary | null
  readonly memUtilPercent: QuantitySummary | null
  readonly temperatureC: QuantitySummary | null
  readonly memoryUsedBytes: QuantitySummary | null
  readonly energy: EnergySummary
}

/** No sample fell between begin and end: nothing is known, least of all that the power was 0 W. */
export interface EmptyWindow {
  readonly kind: 'empty'
  readonly name: string
  readonly beginMs: number
  readonly endMs: number
  readonly durationMs: number
  readonly missed: number
  /** What kept samples from being taken; null where the window was shorter than the cadence. */
  readonly lastError: Error | null
}

export type WindowSummary = MeasuredWindow | EmptyWindow

export interface WindowBounds {
  readonly name: string
  readonly beginMs: number
  readonly endMs: number
  readonly periodMs: number
  readonly lastError: Error | null
}

/** Summarise the samples of a ring between two times. */
export function summarizeWindow(ring: SampleRing, bounds: WindowBounds): WindowSummary {
  const { name, beginMs, endMs, periodMs } = bounds
  let first = ring.count
  while (first > ring.oldest && ring.at('timeMs', first - 1) >= beginMs) first--
  let end = ring.count
  while (end > first && ring.at('timeMs', end - 1) > endMs) end--
  const samples = end - first
  const durationMs = endMs - beginMs
  const missed = Math.max(0, Math.floor(durationMs / periodMs) - samples)
  if (samples === 0) return { kind: 'empty', name, beginMs, endMs, durationMs, missed, lastError: bounds.lastError }
  const of = (column: RingColumn) => summarize(readings(ring, column, first, end))
  return {
    kind: 'measured',
    name,
    beginMs,
    endMs,
    durationMs,
    coveredMs: ring.at('timeMs', end - 1) - ring.at('timeMs', first),
    samples,
    missed,
    longestGapMs: longestGap(ring, first, end, beginMs, endMs),
    powerAverageW: of('powerAverageW'),
    powerInstantW: of('powerInstantW'),
    smClockMhz: of('smClockMhz'),
    memClockMhz: of('memClockMhz'),
    smUtilPercent: of('smUtilPercent'),
    memUtilPercent: of('memUtilPercent'),
    temperatureC: of('temperatureC'),
    memoryUsedBytes: of('memoryUsedBytes'),
    energy: summarizeEnergy(ring, first, end),
  }
}

function readings(ring: SampleRing, column: RingColumn, first: number, end: number): Readings {
  const timesMs: number[] = []
  const values: number[] = []
  for (let i = first; i < end; i++) {
    const value = ring.at(column, i)
    if (Number.isNaN(value)) continue
    timesMs.push(ring.at('timeMs', i))
    values.push(value)
  }
  return { timesMs, values }
}

function summarize(from: Readings): QuantitySummary | null {
  const { values } = from
  if (values.length === 0) return null
  return {
    mean: timeWeightedMean(from)!,
    max: values.reduce((a, b) => Math.max(a, b)),
    min: values.reduce((a, b) => Math.min(a, b)),
    p50: timeWeightedPercentile(from, 50)!,
    p95: timeWeightedPercentile(from, 95)!,
    p99: timeWeightedPercentile(from, 99)!,
    readings: values.length,
  }
}

/** Both energies over the same time: from the first to the last sample of which counter and power are known. */
function summarizeEnergy(ring: SampleRing, first: number, end: number): EnergySummary {
  const instant = readings(ring, 'powerInstantW', first, end)
  const powerField = instant.values.length >= 2 ? 'powerInstantW' : 'powerAverageW'
  const known: number[] = []
  for (let i = first; i < end; i++) {
    if (!Number.isNaN(ring.at('energyJ', i)) && !Number.isNaN(ring.at(powerField, i))) known.push(i)
  }
  const counter = readings(ring, 'energyJ', first, end)
  if (known.length < 2) {
    const counterJ = counter.values.length < 2 ? null : counter.values.at(-1)! - counter.values[0]!
    return {
      counterJ,
      integralJ: integral(readings(ring, powerField, first, end)),
      disagreementPercent: null,
      powerField,
    }
  }
  const [from, to] = [known[0]!, known.at(-1)!]
  const counterJ = ring.at('energyJ', to) - ring.at('energyJ', from)
  const integralJ = integral(readings(ring, powerField, from, to + 1))!
  const disagreementPercent = counterJ > 0 ? (100 * (integralJ - counterJ)) / counterJ : null
  return { counterJ, integralJ, disagreementPercent, powerField }
}

function longestGap(ring: SampleRing, first: number, end: number, beginMs: number, endMs: number): number {
  let longest = 0
  let before = beginMs
  for (let i = first; i < end; i++) {
    const timeMs = ring.at('timeMs', i)
    longest = Math.max(longest, timeMs - before)
    before = timeMs
  }
  return Math.max(longest, endMs - before)
}
