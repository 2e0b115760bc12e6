import Table from 'cli-table3'
import type { RunDifference } from '../compare/compare-runs.js'

/** Below this p a difference is marked. */
const SIGNIFICANT = 0.05

/** One line per run, for people. */
export function formatDifferences(differences: readonly RunDifference[]): string {
  const table = new Table({
    head: ['run', 'A, samples/s', 'B, samples/s', 'change', 'p', 'A, W', 'B, W'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const { run, throughputA, throughputB, throughputChangePercent, pValue, powerAW, powerBW } of differences) {
    const marked = pValue !== null && pValue < SIGNIFICANT ? ' *' : ''
    table.push([
      run,
      throughputA.toFixed(1),
      throughputB.toFixed(1),
      `${throughputChangePercent >= 0 ? '+' : ''}${throughputChangePercent.toFixed(2)} %`,
      pValue === null ? '-' : `${pValue < 0.001 ? '< 0.001' : pValue.toFixed(3)}${marked}`,
      powerAW?.toFixed(1) ?? '-',
      powerBW?.toFixed(1) ?? '-',
    ])
  }
  return `${table.toString()}\n* p < ${SIGNIFICANT} by Welch's test: on runs where there are several, else on windows, which understates p`
}
