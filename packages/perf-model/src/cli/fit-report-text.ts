import type { FitReport } from '../fit/fit-perf-model.js'
import { newTable } from './prediction-report.js'

/** At most this many of the least certain parameters are listed. */
const SHOWN_PARAMETERS = 8

/** Text report of a fit. */
export function formatFitReport(
  report: FitReport,
  { staticRows, files }: { readonly staticRows: number; readonly files: readonly string[] },
): string {
  const { rows, failedRows, groups, heldOutErrors, inSampleErrors, fitted, atBound } = report
  const heldOut = heldOutErrors.length > 0
  const table = newTable([heldOut ? 'held-out error' : 'error in sample', 'rows', 'count', 'median', '95th percentile'])
  for (const { quantity, unit, rows: of, count, median, p95 } of heldOut ? heldOutErrors : inSampleErrors) {
    table.push([quantity, of, count, `${median.toFixed(2)} ${unit}`, `${p95.toFixed(2)} ${unit}`])
  }
  const known = fitted.filter((entry) => entry.relativeStandardError !== null)
  const worst = [...known].sort((a, b) => b.relativeStandardError! - a.relativeStandardError!)
  const uncertain = newTable(['least certain parameters', 'value', 'standard error'])
  for (const { name, value, relativeStandardError } of worst.slice(0, SHOWN_PARAMETERS)) {
    uncertain.push([name, value.toPrecision(4), `${(100 * relativeStandardError!).toPrecision(2)} %`])
  }
  const left = [
    `${failedRows} failed rows left out`,
    ...(staticRows > 0 ? [`${staticRows} rows without a tenant left out`] : []),
  ]
  return [
    `${rows} rows in ${groups} groups; ${left.join(', ')}`,
    '',
    table.toString(),
    '',
    uncertain.toString(),
    `on a bound of their range: ${atBound.length === 0 ? 'none' : atBound.join(', ')}`,
    '',
    `Written: ${files.join(', ')}`,
    '',
  ].join('\n')
}
