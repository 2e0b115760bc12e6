import { sum } from '@pctodl/numerics'
import { assertInput } from '../input-checks.js'
import { assertColumns, parseRecords, TableError } from '../tables/csv-table.js'
import type { KernelMetrics } from '../workload.js'

export interface KernelLaunch {
  readonly kernel: string
  readonly durationNs: number
  /** Thread blocks of the launch. */
  readonly gridSize: number
  readonly threads: number
  readonly smThroughputPercent: number
  readonly dramThroughputPercent: number
  readonly memoryThroughputPercent: number
  readonly registersPerThread: number
  readonly staticSharedMemoryPerBlockBytes: number
}

type Field = Exclude<keyof KernelLaunch, 'kernel'>

/** Factors to the base unit. Nsight Compute chooses a unit for each row, by the size of the value. */
type Units = Readonly<Record<string, number>>
const durations: Units = {
  ...{ ns: 1, us: 1e3, ms: 1e6, s: 1e9 },
  ...{ nsecond: 1, usecond: 1e3, msecond: 1e6, second: 1e9 },
}
const sizes: Units = { byte: 1, Kbyte: 1e3, Mbyte: 1e6 }

const SPEED_OF_LIGHT = 'GPU Speed Of Light Throughput'

interface Metric {
  readonly field: Field
  /** Section that counts if several have a metric of this name. */
  readonly section?: string
  /** Known units; absent for a metric with a single unit. */
  readonly units?: Units
}

const metrics: Readonly<Record<string, Metric>> = {
  Duration: { field: 'durationNs', section: SPEED_OF_LIGHT, units: durations },
  'Grid Size': { field: 'gridSize' },
  Threads: { field: 'threads' },
  'Compute (SM) Throughput': { field: 'smThroughputPercent' },
  'DRAM Throughput': { field: 'dramThroughputPercent' },
  'Memory Throughput': { field: 'memoryThroughputPercent', section: SPEED_OF_LIGHT },
  'Registers Per Thread': { field: 'registersPerThread' },
  'Static Shared Memory Per Block': { field: 'staticSharedMemoryPerBlockBytes', units: sizes },
}

/**
 * Read the long CSV of `ncu --csv --page details`: one row per launch, section and metric. The profiler's own messages
 * (`==PROF== ...`), breakdown rows (`Body Item Label` filled) and the table of devices are skipped.
 *
 * @param file name for messages
 * @returns the launches in the order of the report
 * @throws TableError if a column, a metric or a unit is missing or unknown
 */
export function parseNsightComputeCsv(text: string, file = 'ncu report'): KernelLaunch[] {
  const { header, rows } = readRows(text, file)
  const needed = ['ID', 'Kernel Name', 'Section Name', 'Metric Name', 'Metric Unit', 'Metric Value']
  assertColumns(header, needed, file)
  const launches: { id: string; kernel: string; line: number; values: Partial<Record<Field, number>> }[] = []
  let deviceCells = 0
  for (const { cells, line } of rows) {
    if (cells[0] === 'GPU ID') deviceCells = cells.length
    if (cells.length === deviceCells) continue
    if (cells.length !== header.length) {
      throw new TableError(file, line, undefined, `${cells.length} cells, expected ${header.length}`)
    }
    const cell = (name: string) => cells[header.indexOf(name)] ?? ''
    if (cell('Body Item Label') !== '') continue
    const id = cell('ID')
    if (launches.at(-1)?.id !== id) launches.push({ id, kernel: cell('Kernel Name'), line, values: {} })
    const { values } = launches.at(-1)!
    const name = cell('Metric Name')
    const metric = metrics[name]
    if (!metric || (metric.section ?? cell('Section Name')) !== cell('Section Name')) continue
    const problem = (found: string) => new TableError(file, line, name, found)
    values[metric.field] ??= numberOf(cell('Metric Value'), problem) * factorOf(cell('Metric Unit'), metric, problem)
  }
  const problem = 'no kernel launches; was a step profiled?'
  if (launches.length === 0) throw new TableError(file, undefined, undefined, problem)
  for (const { id, kernel, line, values } of launches) {
    const missing = Object.keys(metrics).find((name) => values[metrics[name]!.field] === undefined)
    if (missing === undefined) continue
    throw new TableError(file, line, missing, `missing for launch ${id} (${kernel}); profile with --set full`)
  }
  return launches.map(({ kernel, values }) => ({ kernel, ...(values as Record<Field, number>) }))
}

function numberOf(text: string, problem: (found: string) => TableError): number {
  const value = Number(text.replaceAll(',', ''))
  if (text === '' || !Number.isFinite(value)) throw problem(`got '${text}', expected a number`)
  return value
}

function factorOf(unit: string, { units }: Metric, problem: (found: string) => TableError): number {
  if (units === undefined) return 1
  const factor = units[unit.replace(/\/block$/, '')]
  if (factor === undefined) throw problem(`got the unit '${unit}', expected one of ${Object.keys(units).join(', ')}`)
  return factor
}

function readRows(text: string, file: string) {
  const ownTalk = /^==.*$/gm
  const records = parseRecords<string[]>(text.replace(ownTalk, ''), file, { relax_column_count: true })
  const [header, ...rows] = records
    .map(({ record, info }) => ({ cells: record.map((cell) => cell.trim()), line: info.lines }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
  const expected = 'empty, expected the output of ncu --csv --page details'
  if (!header) throw new TableError(file, undefined, undefined, expected)
  return { header: header.cells, rows }
}

/**
 * Means of a workload's kernel metrics, weighted by launch duration: `sum d m / sum d`. Registers and static shared
 * memory are totals of the grid (threads x registers per thread, blocks x bytes per block).
 *
 * @throws InvalidInputError without launches, or if their total duration is 0
 */
export function aggregateLaunches(launches: readonly KernelLaunch[]): KernelMetrics {
  const totalNs = sum(launches.map(({ durationNs }) => durationNs))
  assertInput(totalNs > 0, 'total duration of the launches', totalNs, 'above 0 ns')
  const mean = (metric: (launch: KernelLaunch) => number) =>
    sum(launches.map((launch) => launch.durationNs * metric(launch))) / totalNs
  return {
    threads: mean((launch) => launch.threads),
    smThroughputPercent: mean((launch) => launch.smThroughputPercent),
    dramThroughputPercent: mean((launch) => launch.dramThroughputPercent),
    memoryThroughputPercent: mean((launch) => launch.memoryThroughputPercent),
    registers: mean((launch) => launch.threads * Math.floor(launch.registersPerThread)),
    staticSharedMemory: mean((launch) => launch.gridSize * launch.staticSharedMemoryPerBlockBytes),
  }
}
