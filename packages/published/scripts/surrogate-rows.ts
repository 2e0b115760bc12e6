import type { TraceRow } from '@pctodl/platform'

/** The board's name in the surrogate, and ours. */
export const surrogateBoards = { '3080ti': '3080Ti', a100: 'A100' } as const

/**
 * What the published tree ensembles remember of measured boards: homogeneous tenants, clock not locked. The clock column is
 * the nominal one. Rows marked doubtful are left out.
 *
 * @param csv text of `surrogate_anchor.csv`, or of some of its rows
 */
export function surrogateRows(csv: string, board: keyof typeof surrogateBoards): TraceRow[] {
  const [header, ...lines] = csv.trim().split('\n')
  const columns = header!.split(',')
  const rows = lines.map((line) => {
    const fields = line.split(',')
    return (column: string) => fields[columns.indexOf(column)]!
  })
  return rows
    .filter((field) => field('board') === board && field('doubtful') === '0')
    .map((field): TraceRow => {
      const tenant = { model: field('model'), mpsPercent: Number(field('share')), batchSize: Number(field('batch')) }
      return {
        tenants: Array.from({ length: Number(field('n')) }, () => tenant),
        targetSmClockMhz: null,
        memClockMhz: Number(field('mem_mhz')),
        smClockMhz: Number(field('anchor_mhz')),
        smUtilPercent: Math.min(100, Number(field('u_sm'))),
        memUtilPercent: Math.min(100, Number(field('u_mem'))),
        throughput: Number(field('throughput')),
        powerAverageW: Number(field('power')),
        powerMaxW: Number(field('power_max')),
        tenantThroughput: [],
        tenantLatencyMs: [],
        memoryUsedBytes: null,
        failed: false,
      }
    })
}
