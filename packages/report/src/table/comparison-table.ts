import type { RunDifference } from '../compare/compare-runs.js'
import { figure, textTable } from './report-table.js'

/** A difference is marked as significant if its p-value is below this. */
const SIGNIFICANT = 0.05

/** Formats differences as text, one line per run. */
export function formatDifferences(differences: readonly RunDifference[]): string {
  const head = ['run', 'A, samples/s', 'B, samples/s', 'change', 'p', 'A, W', 'B, W']
  const rows = differences.map((difference) => {
    const { run, throughputA, throughputB, throughputChangePercent, pValue, powerAW, powerBW } = difference
    const marked = pValue !== null && pValue < SIGNIFICANT ? ' *' : ''
    return [
      run,
      throughputA.toFixed(1),
      throughputB.toFixed(1),
      throughputChangePercent === null
        ? '-'
        : `${throughputChangePercent >= 0 ? '+' : ''}${throughputChangePercent.toFixed(2)} %`,
      pValue === null ? '-' : `${pValue < 0.001 ? '< 0.001' : pValue.toFixed(3)}${marked}`,
      figure(powerAW, 1),
      figure(powerBW, 1),
    ]
  })
  const legend = `* p < ${SIGNIFICANT} by Welch's test: on runs where there are several, else on windows, which understates p`
  return `${textTable({ head, rows })}\n${legend}`
}
