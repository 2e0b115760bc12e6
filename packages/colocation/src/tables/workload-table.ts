import { parseWorkloadName, type Workload, WorkloadCatalog } from '../workload.js'
import { csvCell, parseCsvTable } from './csv-table.js'

/** The published table's columns, which are also ours, and the fields they fill. */
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

/**
 * Read a table of workloads measured alone. Batch size and mode come from the name (`<model>_batch<size>-<train|inf>`).
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
    return { name, batchSize, training, ...metrics }
  })
  return new WorkloadCatalog(workloads)
}

/** The table that `parseWorkloadTable` reads. */
export function formatWorkloadTable(workloads: Iterable<Workload>): string {
  const lines = [['workload', ...columns.map(([column]) => column)].map(csvCell).join(',')]
  for (const workload of workloads) {
    lines.push([workload.name, ...columns.map(([, field]) => workload[field])].map(csvCell).join(','))
  }
  return `${lines.join('\n')}\n`
}
