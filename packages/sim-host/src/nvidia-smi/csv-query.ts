import { MAX_SM_CLOCKS } from '../board-file-layout.js'
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

interface CsvQuery {
  /** Names of the fields: each field's canonical name first, then its aliases. */
  readonly names: readonly (readonly string[])[]
  /** @throws SmiError with the real tool's message if a field is unknown */
  readonly csv: (names: readonly string[], reading: SmiReading, format: CsvFormat) => string
}

/** The queries, by option. */
export const csvQueries: Readonly<Record<string, CsvQuery>> = {
  'query-gpu': query(gpuFields, ({ boards }) => boards),
  'query-compute-apps': query(processFields, processRows),
  'query-supported-clocks': query(clocksFields, clocksRows),
}

function query<Row>(fields: readonly QueryField<Row>[], rowsOf: (reading: SmiReading) => readonly Row[]): CsvQuery {
  return {
    names: fields.map(({ name, aliases }) => [name, ...aliases]),
    csv: (names, reading, format) => csv(fields, names, rowsOf(reading), reading, format),
  }
}

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
  return boards.flatMap((board) => board.state.processes.map((process) => ({ board, process })))
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
  return identity.memClocksMhz.map((memClockMhz, i) => ({
    memClockMhz,
    smClocksMhz: identity.smClocksMhz.slice(i * MAX_SM_CLOCKS, i * MAX_SM_CLOCKS + identity.smClockCounts[i]!),
  }))
}
