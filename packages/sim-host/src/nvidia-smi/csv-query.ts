import type { BoardReading } from '../board-file-reader.js'
import { field, gpuFields, type QueryField, timestamp } from './gpu-fields.js'
import { mebibytes, megahertz, type SmiReading, type Value } from './reading.js'
import { SmiError } from './smi-error.js'

export interface CsvFormat {
  readonly header: boolean
  readonly units: boolean
}

interface ProcessRow {
  readonly board: BoardReading
  readonly process: BoardReading['state']['processes'][number]
}

interface ClocksRow {
  readonly board: BoardReading
  readonly memClockMhz: number
  readonly smClockMhz: number
}

const ofBoard = <Row extends { readonly board: BoardReading }>(): QueryField<Row>[] => [
  field('timestamp', (_, { date }) => timestamp(date)),
  field('gpu_name', ({ board }) => board.identity.name),
  field('gpu_bus_id', ({ board }) => board.identity.busId),
  field('gpu_serial', () => null),
  field('gpu_uuid', ({ board }) => board.identity.uuid),
]

const processFields: readonly QueryField<ProcessRow>[] = [
  ...ofBoard<ProcessRow>(),
  field('pid', ({ process }) => String(process.pid)),
  field('process_name name', ({ process }) => process.name),
  field('used_gpu_memory used_memory', ({ process }) => mebibytes(process.usedBytes), 'MiB'),
]

const clocksFields: readonly QueryField<ClocksRow>[] = [
  ...ofBoard<ClocksRow>(),
  field('memory mem', ({ memClockMhz }) => megahertz(memClockMhz), 'MHz'),
  field('graphics gr', ({ smClockMhz }) => megahertz(smClockMhz), 'MHz'),
]

const accountedFields: readonly QueryField<ProcessRow>[] = [
  ...ofBoard<ProcessRow>(),
  ...['pid', 'gpu_utilization', 'mem_utilization', 'max_memory_usage', 'time'].map((name) =>
    field<ProcessRow>(name, () => null),
  ),
]

/** Names of the fields, by query option: each field's canonical name first, then its aliases. */
export const csvQueryFields: Readonly<Record<string, readonly (readonly string[])[]>> = Object.fromEntries(
  Object.entries({
    'query-gpu': gpuFields,
    'query-compute-apps': processFields,
    'query-supported-clocks': clocksFields,
    'query-accounted-apps': accountedFields,
  }).map(([option, fields]) => [option, fields.map(({ name, aliases }) => [name, ...aliases])]),
)

/** Functions that return the CSV output, by query option. */
export const csvQueries: Readonly<
  Record<string, (names: readonly string[], reading: SmiReading, format: CsvFormat) => string>
> = {
  'query-gpu': (names, reading, format) => csv(gpuFields, names, reading.boards, reading, format),
  'query-compute-apps': (names, reading, format) => csv(processFields, names, processRows(reading), reading, format),
  'query-supported-clocks': (names, reading, format) => csv(clocksFields, names, clocksRows(reading), reading, format),
  'query-accounted-apps': (names, reading, format) => csv(accountedFields, names, [], reading, format),
}

/**
 * Returns the CSV output of a query.
 *
 * @throws SmiError with the real tool's message if a field is unknown
 */
function csv<Row>(
  known: readonly QueryField<Row>[],
  names: readonly string[],
  rows: readonly Row[],
  reading: SmiReading,
  { header, units }: CsvFormat,
): string {
  const fields = names.map((name) => {
    const found = known.find((field) => field.name === name || field.aliases.includes(name))
    if (!found) throw new SmiError(2, `Field "${name}" is not a valid field to query.\n`)
    return found
  })
  const lines = rows.map((row) => fields.map((field) => cell(field.value(row, reading), units)).join(', '))
  if (header) lines.unshift(fields.map(({ name, unit }) => (unit ? `${name} [${unit}]` : name)).join(', '))
  return lines.map((line) => `${line}\n`).join('')
}

function cell(value: Value, units: boolean): string {
  if (value === null) return '[N/A]'
  if (typeof value === 'string') return value
  return units ? `${value.number} ${value.unit}` : value.number
}

function processRows({ boards }: SmiReading): ProcessRow[] {
  return boards.flatMap((board) =>
    board.state.processes.slice(0, board.state.processCount).map((process) => ({ board, process })),
  )
}

function clocksRows({ boards }: SmiReading): ClocksRow[] {
  return boards.flatMap((board) =>
    supportedClocks(board).flatMap(({ memClockMhz, smClocksMhz }) =>
      smClocksMhz.map((smClockMhz) => ({ board, memClockMhz, smClockMhz })),
    ),
  )
}

/** Returns the SM clocks that each memory clock allows. All clocks are in descending order. */
export function supportedClocks({ identity }: BoardReading): { memClockMhz: number; smClocksMhz: readonly number[] }[] {
  const perMemClock = identity.smClocksMhz.length / identity.memClocksMhz.length
  return identity.memClocksMhz.slice(0, identity.memClockCount).map((memClockMhz, i) => ({
    memClockMhz,
    smClocksMhz: identity.smClocksMhz.slice(i * perMemClock, i * perMemClock + identity.smClockCounts[i]!),
  }))
}
