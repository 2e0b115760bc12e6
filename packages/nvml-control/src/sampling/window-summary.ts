import type { Telemetry } from '@pctodl/platform'
import { integral, type Readings, timeWeightedMean, timeWeightedPercentile } from './time-weighted.js'

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
  /** Energy by the board's energy counter, from its first to its last reading, J; null for fewer than two readings. */
  readonly counterJ: number | null
  /** Power integrated over the same time, J; null for fewer than two readings. */
  readonly integralJ: number | null
  /** 100 x (integral - counter) / counter; null if the two cover different times, or the counter did not rise. */
  readonly disagreementPercent: number | null
  /** The field that was integrated: the instant reading if there are at least two of it, else the averaged reading. */
  readonly powerField: 'powerInstantW' | 'powerAverageW'
}

const quantities = [
  'powerAverageW',
  'powerInstantW',
  'smClockMhz',
  'memClockMhz',
  'smUtilPercent',
  'memUtilPercent',
  'temperatureC',
  'memoryUsedBytes',
] as const

/** The summary of each quantity; null if no reading of it succeeded. */
type QuantitySummaries = Readonly<Record<(typeof quantities)[number], QuantitySummary | null>>

interface Window extends Pick<WindowBounds, 'name' | 'beginMs' | 'endMs'> {
  readonly durationMs: number
  /** Number of samples that were due in the window but are missing: skipped, failed or overwritten. */
  readonly missed: number
}

/** Summary of a window with at least one sample. */
export interface MeasuredWindow extends Window, QuantitySummaries {
  readonly kind: 'measured'
  /** Time from the first to the last sample in the window, ms. All quantities refer to this time. */
  readonly coveredMs: number
  readonly samples: number
  /** Longest time without a sample, ms. The start and the end of the window count as samples. */
  readonly longestGapMs: number
  readonly energy: EnergySummary
}

/** Summary of a window without samples. All its quantities are unknown, not 0. */
export interface EmptyWindow extends Window {
  readonly kind: 'empty'
  /** Error of the last sample; null if there was none, e.g. if the window was shorter than the sampling period. */
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

/** @param all samples, oldest first; the summary covers those between the bounds, including both bounds */
export function summarizeWindow(all: readonly Telemetry[], bounds: WindowBounds): WindowSummary {
  const { name, beginMs, endMs, periodMs, lastError } = bounds
  const samples = all.filter(({ timeMs }) => timeMs >= beginMs && timeMs <= endMs)
  const [first, last] = [samples[0], samples.at(-1)]
  const durationMs = endMs - beginMs
  const missed = Math.max(0, Math.floor(durationMs / periodMs) - samples.length)
  const window: Window = { name, beginMs, endMs, durationMs, missed }
  if (!first || !last) return { kind: 'empty', ...window, lastError }
  const edges = [beginMs, ...samples.map(({ timeMs }) => timeMs), endMs]
  const summaries = quantities.map((quantity) => [quantity, summarize(readings(samples, quantity))])
  return {
    kind: 'measured',
    ...window,
    coveredMs: last.timeMs - first.timeMs,
    samples: samples.length,
    longestGapMs: edges.reduce((longest, edge, i) => Math.max(longest, edge - (edges[i - 1] ?? edge)), 0),
    ...(Object.fromEntries(summaries) as QuantitySummaries),
    energy: summarizeEnergy(samples),
  }
}

function readings(samples: readonly Telemetry[], quantity: (typeof quantities)[number] | 'energyJ'): Readings {
  const read = samples.filter((sample) => sample[quantity] !== null)
  return { timesMs: read.map(({ timeMs }) => timeMs), values: read.map((sample) => sample[quantity]!) }
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

/** Computes both energies over the same time: from the first to the last sample that has both counter and power. */
function summarizeEnergy(samples: readonly Telemetry[]): EnergySummary {
  const powerField = readings(samples, 'powerInstantW').values.length >= 2 ? 'powerInstantW' : 'powerAverageW'
  const isKnown = (sample: Telemetry) => sample.energyJ !== null && sample[powerField] !== null
  const from = samples.findIndex(isKnown)
  const to = samples.findLastIndex(isKnown)
  // If fewer than two samples have both values, each energy covers its own time, and the two cannot be compared.
  const together = from < to
  const shared = together ? samples.slice(from, to + 1) : samples
  const counter = readings(shared, 'energyJ').values
  const counterJ = counter.length < 2 ? null : counter.at(-1)! - counter[0]!
  const integralJ = integral(readings(shared, powerField))
  const disagreementPercent =
    together && counterJ !== null && counterJ > 0 ? (100 * (integralJ! - counterJ)) / counterJ : null
  return { counterJ, integralJ, disagreementPercent, powerField }
}
