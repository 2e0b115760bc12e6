import type { FitReport } from '../fit/fit-perf-model.js'
import { newTable } from './prediction-report.js'

/** Text report of a fit. */
export function formatFitReport(
  report: FitReport,
  { staticRows, files }: { readonly staticRows: number; readonly files: readonly string[] },
): string {
  const { rows, failedRows, groups, heldOutErrors, inSampleErrors, atBound } = report
  const heldOut = heldOutErrors.length > 0
  const table = newTable([heldOut ? 'held-out error' : 'error in sample', 'rows', 'count', 'median', '95th percentile'])
  for (const { quantity, unit, rows: of, count, median, p95 } of heldOut ? heldOutErrors : inSampleErrors) {
    table.push([quantity, of, count, `${median.toFixed(2)} ${unit}`, `${p95.toFixed(2)} ${unit}`])
  }
  const left = [
    `${failedRows} failed rows left out`,
    ...(staticRows > 0 ? [`${staticRows} rows without a tenant left out`] : []),
  ]
  const bound = `on a bound of their range: ${atBound.length === 0 ? 'none' : atBound.join(', ')}`
  const head = `${rows} rows in ${groups} groups; ${left.join(', ')}`
  return `${head}\n\n${table.toString()}\n\n${bound}\n\nWritten: ${files.join(', ')}\n`
}
