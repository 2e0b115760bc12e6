import { InvalidInputError } from '@pctodl/platform'
import { CsvError, parse } from 'csv-parse/sync'
import { TableError } from '../tables/csv-table.js'
import type { KernelMetrics } from '../workload.js'

/** Input for profiling one workload with Nsight Compute, kernel by kernel, during one steady step. */
export interface ProfilingRequest {
  readonly workload: string
  /** The program and its arguments; it runs one step per NVTX range. */
  readonly command: readonly string[]
  /**
   * NVTX range that marks the profiled step. Default `step10`: by then caches, allocator and autotuning have settled.
   */
  readonly nvtxRange?: string
  /** Folder for the report. Default `.`. */
  readonly folder?: string
}

export interface ProfilingCommands {
  /** Runs the workload under the profiler; needs permission to read performance counters. */
  readonly profile: string
  /** Converts the report to the CSV that `parseNsightComputeCsv` reads. */
  readonly exportCsv: string
  readonly csvFile: string
}

/**
 * Commands that profile one workload, quoted for a POSIX shell.
 *
 * @throws InvalidInputError without a command
 */
export function profilingCommands({
  workload,
  command,
  nvtxRange = 'step10',
  folder = '.',
}: ProfilingRequest): ProfilingCommands {
  if (command.length === 0) throw new InvalidInputError('command', command, 'a program and its arguments')
  const report = `${folder}/${workload}.ncu-rep`
  const csvFile = `${folder}/${workload}.csv`
  const options = ['--set', 'full', '--nvtx', '--nvtx-include', `${nvtxRange}/`, '--target-processes', 'all']
  const print = ['ncu', '--import', report, '--csv', '--page', 'details', '--print-units', 'base']
  return {
    profile: shellWords(['ncu', ...options, '--force-overwrite', '--export', report, ...command]),
    exportCsv: `${shellWords(print)} > ${shellWords([csvFile])}`,
    csvFile,
  }
}

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')
}

/** One kernel launch in a report of Nsight Compute. */
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

const SPEED_OF_LIGHT = 'GPU Speed Of Light Throughput'

/** Field for each metric of the report, and the section that must be used if several have a metric of this name. */
const metrics: Readonly<Record<string, { readonly field: Field; readonly section?: string }>> = {
  Duration: { field: 'durationNs', section: SPEED_OF_LIGHT },
  'Grid Size': { field: 'gridSize' },
  Threads: { field: 'threads' },
  'Compute (SM) Throughput': { field: 'smThroughputPercent' },
  'DRAM Throughput': { field: 'dramThroughputPercent' },
  'Memory Throughput': { field: 'memoryThroughputPercent', section: SPEED_OF_LIGHT },
  'Registers Per Thread': { field: 'registersPerThread' },
  'Static Shared Memory Per Block': { field: 'staticSharedMemoryPerBlockBytes' },
}

/** Factors to ns. Nsight Compute scales each value to a suitable unit, row by row, in steps of a thousand. */
const durationUnitsNs: Readonly<Record<string, number>> = {
  ns: 1,
  nsecond: 1,
  us: 1e3,
  usecond: 1e3,
  ms: 1e6,
  msecond: 1e6,
  s: 1e9,
  second: 1e9,
}
const memoryUnitsBytes: Readonly<Record<string, number>> = { byte: 1, Kbyte: 1e3, Mbyte: 1e6 }

interface OpenLaunch {
  readonly id: string
  readonly kernel: string
  readonly line: number
  readonly values: Partial<Record<Field, number>>
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
  const column = (name: string) => header.indexOf(name)
  for (const name of ['ID', 'Kernel Name', 'Section Name', 'Metric Name', 'Metric Unit', 'Metric Value']) {
    if (column(name) < 0) throw new TableError(file, undefined, name, `missing; the columns are ${header.join(', ')}`)
  }
  const cell = (cells: readonly string[], name: string) => (cells[column(name)] ?? '').trim()
  const launches: KernelLaunch[] = []
  let open: OpenLaunch | undefined
  let deviceCells = 0
  for (const { cells, line } of rows) {
    if (cells[0] === 'GPU ID') deviceCells = cells.length
    if (cells.length === deviceCells) continue
    if (cells.length !== header.length) {
      throw new TableError(file, line, undefined, `${cells.length} cells, expected ${header.length}`)
    }
    if (column('Body Item Label') >= 0 && cell(cells, 'Body Item Label') !== '') continue
    const id = cell(cells, 'ID')
    if (open?.id !== id) {
      if (open) launches.push(closed(open, file))
      open = { id, kernel: cell(cells, 'Kernel Name'), line, values: {} }
    }
    const metric = metrics[cell(cells, 'Metric Name')]
    if (!metric || (metric.section !== undefined && cell(cells, 'Section Name') !== metric.section)) continue
    open.values[metric.field] ??= fieldValue(
      metric.field,
      cell(cells, 'Metric Value'),
      cell(cells, 'Metric Unit'),
      (problem) => new TableError(file, line, cell(cells, 'Metric Name'), problem),
    )
  }
  if (!open) throw new TableError(file, undefined, undefined, 'no kernel launches; was a step profiled?')
  return [...launches, closed(open, file)]
}

function readRows(text: string, file: string) {
  let records: { record: string[]; info: { lines: number } }[]
  try {
    const ownTalk = /^==.*$/gm
    records = parse(text.replace(ownTalk, ''), { bom: true, info: true, relax_column_count: true }) as never
  } catch (error) {
    if (error instanceof CsvError) throw new TableError(file, undefined, undefined, error.message, error)
    throw error
  }
  const rows = records
    .map(({ record, info }) => ({ cells: record, line: info.lines }))
    .filter(({ cells }) => cells.some((text) => text.trim() !== ''))
  const header = rows[0]?.cells.map((name) => name.trim())
  if (!header)
    throw new TableError(file, undefined, undefined, 'empty, expected the output of ncu --csv --page details')
  return { header, rows: rows.slice(1) }
}

function fieldValue(field: Field, text: string, unit: string, problem: (text: string) => TableError): number {
  const value = Number(text.replaceAll(',', ''))
  if (text === '' || !Number.isFinite(value)) throw problem(`got '${text}', expected a number`)
  if (field === 'durationNs') return value * factor(unit, durationUnitsNs, problem)
  if (field === 'staticSharedMemoryPerBlockBytes') {
    return value * factor(unit.replace(/\/block$/, ''), memoryUnitsBytes, problem)
  }
  return value
}

function factor(unit: string, units: Readonly<Record<string, number>>, problem: (text: string) => TableError): number {
  const found = units[unit]
  if (found === undefined) throw problem(`got the unit '${unit}', expected one of ${Object.keys(units).join(', ')}`)
  return found
}

function closed({ id, kernel, line, values }: OpenLaunch, file: string): KernelLaunch {
  for (const [name, { field }] of Object.entries(metrics)) {
    if (values[field] === undefined) {
      throw new TableError(file, line, name, `missing for launch ${id} (${kernel}); profile with --set full`)
    }
  }
  return { kernel, ...(values as Record<Field, number>) }
}

/**
 * Means of a workload's kernel metrics, weighted by launch duration: `sum d m / sum d`. Registers and static shared
 * memory are totals of the grid (threads x registers per thread, blocks x bytes per block).
 *
 * @throws InvalidInputError without launches, or if their total duration is 0
 */
export function aggregateLaunches(launches: readonly KernelLaunch[]): KernelMetrics {
  const totalNs = launches.reduce((sum, { durationNs }) => sum + durationNs, 0)
  if (!(totalNs > 0)) throw new InvalidInputError('total duration of the launches', totalNs, 'above 0 ns')
  const mean = (metric: (launch: KernelLaunch) => number) =>
    launches.reduce((sum, launch) => sum + launch.durationNs * metric(launch), 0) / totalNs
  return {
    threads: mean(({ threads }) => threads),
    smThroughputPercent: mean(({ smThroughputPercent }) => smThroughputPercent),
    dramThroughputPercent: mean(({ dramThroughputPercent }) => dramThroughputPercent),
    memoryThroughputPercent: mean(({ memoryThroughputPercent }) => memoryThroughputPercent),
    registers: mean(({ threads, registersPerThread }) => threads * Math.floor(registersPerThread)),
    staticSharedMemory: mean(
      ({ gridSize, staticSharedMemoryPerBlockBytes }) => gridSize * staticSharedMemoryPerBlockBytes,
    ),
  }
}
