import { parseWorkloadName, type Workload, WorkloadCatalog } from '../workload.js'
import { csvCell, parseCsvTable } from './csv-table.js'

/** Columns of the published table, used by this project too, and their fields. */
const columns = [
  ['Threads', 'threads'],
  ['Compute (SM) Throughput', 'smThroughputPercent'],
  ['DRAM Throughput', 'dramThroughputPercent'],
  ['Memory Throughput', 'memoryThroughputPercent'],
  ['Registers', 'registers'],
  ['Static Shared Memory', 'staticSharedMemory'],
  ['exclusive_throughput', 'exclusiveThroughput'],
  ['sm%', 'smUtilPercent'],
  ['mem%', 'memUtilPercent'],
  ['memcap', 'memoryGib'],
] as const

/** Column of mean power, W: optional, and absent from the published table. */
export const POWER = 'power'

/**
 * Read a table of workloads measured alone; the column `power` (W) may be absent or blank. Batch size and mode come
 * from the name (`<model>_batch<size>-<train|inf>`).
 *
 * @param file name for messages
 * @throws TableError with line and column
 */
export function parseWorkloadTable(text: string, file = 'workloads'): WorkloadCatalog {
  const { rows } = parseCsvTable(text, file, ['workload', ...columns.map(([column]) => column)])
  const seen = new Set<string>()
  const workloads = rows.map((row): Workload => {
    const name = row.text('workload')
    if (seen.has(name)) throw row.error('workload', `'${name}' occurs twice, expected one row per workload`)
    seen.add(name)
    const form = /^.+_batch[1-9]\d*-(train|inf)$/
    if (!form.test(name)) throw row.error('workload', `got '${name}', expected '<model>_batch<size>-<train|inf>'`)
    const { batchSize, training } = parseWorkloadName(name)
    const metrics = Object.fromEntries(
      columns.map(([column, field]) => [
        field,
        field === 'exclusiveThroughput' ? row.positive(column) : row.notNegative(column),
      ]),
    ) as Record<(typeof columns)[number][1], number>
    const powerW = row.optionalPositive(POWER)
    return { name, batchSize, training, ...metrics, ...(powerW === undefined ? {} : { powerW }) }
  })
  return new WorkloadCatalog(workloads)
}

/** Write the table that `parseWorkloadTable` reads. */
export function formatWorkloadTable(workloads: Iterable<Workload>): string {
  const all = [...workloads]
  const powered = all.some(({ powerW }) => powerW !== undefined)
  const lines = [['workload', ...columns.map(([column]) => column), ...(powered ? [POWER] : [])].map(csvCell).join(',')]
  for (const workload of all) {
    const power = powered ? [workload.powerW ?? ''] : []
    lines.push([workload.name, ...columns.map(([, field]) => workload[field]), ...power].map(csvCell).join(','))
  }
  return `${lines.join('\n')}\n`
}
