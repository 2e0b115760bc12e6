import { median } from '@pctodl/numerics'
import { type TraceRow, traceColumns, traceFields } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'

/** Summary of the repeated measurements of one configuration. */
export interface RepeatSummary {
  /** Means over the repeats that are not outliers. The row is marked as failed if most repeats failed. */
  readonly mean: TraceRow
  readonly repeats: number
  /** Trace row numbers of the outliers. */
  readonly outlierRows: readonly number[]
  /** Largest minus smallest throughput among the repeats without outliers, in percent of their mean. */
  readonly throughputSpreadPercent: number
  readonly powerSpreadPercent: number
}

/**
 * Modified z-score above which a value is an outlier (Iglewicz and Hoaglin, "How to detect and handle outliers", 1993).
 */
const MODIFIED_Z = 3.5
/**
 * Lower bound of the median absolute deviation, in percent of the median: measurements are not more precise than this.
 */
const AGREEMENT_PERCENT = 0.5

/**
 * Groups rows by configuration and marks outliers: rows whose throughput or power has a modified z-score above 3.5.
 * This score is 0.6745 times the deviation from the median of the repeats, divided by their median absolute deviation.
 * It needs at least three repeats.
 */
export function summarizeRepeats(rows: readonly ProfileRow[]): RepeatSummary[] {
  const groups = new Map<string, ProfileRow[]>()
  for (const row of rows) {
    const key = JSON.stringify([row.tenants, row.targetSmClockMhz, row.memClockMhz])
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()].map(summarizeGroup)
}

export function formatRepeatsCsv(summaries: readonly RepeatSummary[]): string {
  const header = [...traceColumns, 'repeats', 'outlier_rows', 'throughput_spread_pct', 'power_spread_pct']
  const lines = summaries.map((summary) =>
    [
      ...traceFields(summary.mean),
      summary.repeats,
      `"[${summary.outlierRows.join(', ')}]"`,
      Number.isNaN(summary.throughputSpreadPercent) ? '' : summary.throughputSpreadPercent.toFixed(3),
      Number.isNaN(summary.powerSpreadPercent) ? '' : summary.powerSpreadPercent.toFixed(3),
    ].join(','),
  )
  return `${[header.join(','), ...lines].join('\n')}\n`
}

function summarizeGroup(group: readonly ProfileRow[]): RepeatSummary {
  const measured = group.filter((row) => !row.failed)
  if (2 * measured.length < group.length || measured.length === 0) {
    const mean = group.find((row) => row.failed)!
    const unknown = { throughputSpreadPercent: Number.NaN, powerSpreadPercent: Number.NaN }
    return { mean, repeats: group.length, outlierRows: [], ...unknown }
  }
  const isFar = [
    farFromMedian(measured.map((row) => row.throughput)),
    farFromMedian(measured.map((row) => row.powerAverageW)),
  ]
  const outlierRows = measured.filter((_, i) => isFar.some((far) => far[i])).map(({ row }) => row)
  const kept = measured.filter(({ row }) => !outlierRows.includes(row))
  const mean = (value: (row: ProfileRow) => number) => kept.reduce((sum, row) => sum + value(row), 0) / kept.length
  const means = (values: (row: ProfileRow) => readonly number[]) =>
    values(kept[0]!).map((_, i) => mean((row) => values(row)[i]!))
  const spread = (value: (row: ProfileRow) => number) =>
    (100 * (Math.max(...kept.map(value)) - Math.min(...kept.map(value)))) / mean(value)
  const first = kept[0]!
  return {
    mean: {
      tenants: first.tenants,
      targetSmClockMhz: first.targetSmClockMhz,
      memClockMhz: first.memClockMhz,
      smClockMhz: mean((row) => row.smClockMhz),
      smUtilPercent: mean((row) => row.smUtilPercent),
      memUtilPercent: mean((row) => row.memUtilPercent),
      throughput: mean((row) => row.throughput),
      powerAverageW: mean((row) => row.powerAverageW),
      powerMaxW: Math.max(...kept.map((row) => row.powerMaxW)),
      tenantThroughput: means((row) => row.tenantThroughput),
      tenantLatencyMs: means((row) => row.tenantLatencyMs),
      memoryUsedBytes: first.memoryUsedBytes,
      failed: false,
    },
    repeats: group.length,
    outlierRows,
    throughputSpreadPercent: spread((row) => row.throughput),
    powerSpreadPercent: spread((row) => row.powerAverageW),
  }
}

function farFromMedian(values: readonly number[]): boolean[] {
  if (values.length < 3) return values.map(() => false)
  const middle = median(values)
  const deviations = values.map((value) => Math.abs(value - middle))
  const scale = Math.max(median(deviations), (AGREEMENT_PERCENT / 100) * Math.abs(middle))
  return deviations.map((deviation) => 0.6745 * deviation > MODIFIED_Z * scale)
}
