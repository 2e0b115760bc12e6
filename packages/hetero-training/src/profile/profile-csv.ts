import { InvalidInputError } from '@pctodl/platform'
import { parse } from 'csv-parse/sync'
import { assertProfile, averageRepeats, type GpuProfile, type ProfileRow } from './gpu-profile.js'

export interface CsvProfileOptions {
  /** Which rows of the file, by columns: `{ gpu: 't4', network: 'resnet50' }`. Needed where it holds several jobs. */
  readonly only?: Readonly<Record<string, string>>
  /** Samples in the data set; needed for a summary of epochs, which last as many steps as the data set has batches. */
  readonly datasetSize?: number
}

/** Columns of a list of measured windows. */
const windowColumns = ['batch_size', 'power_limit_w', 'time_s', 'energy_j'] as const
/** May be beside them. */
const CLOCK_COLUMN = 'sm_clock_mhz'
/** Columns of a power summary: seconds an epoch and mean watts. */
const epochColumns = ['batch_size', 'power_limit', 'time_per_epoch', 'average_power'] as const

/** Columns that tell jobs apart: of each but one value is chosen. */
const jobColumns = ['gpu', 'dataset', 'network', 'optimizer']

type Row = Readonly<Record<string, string>>

/**
 * Read measurements from CSV: either windows (`batch_size, power_limit_w, time_s, energy_j`, and `sm_clock_mhz` where clocks
 * were locked), or a summary of epochs (`batch_size, power_limit, time_per_epoch, average_power`).
 *
 * @param file named in messages
 * @throws InvalidInputError naming the file, the row and the column
 */
export function parseProfileCsv(
  text: string,
  file: string,
  options: CsvProfileOptions & { readonly name: string },
): GpuProfile {
  let rows: Row[]
  try {
    rows = parse(text, { columns: true, skip_empty_lines: true, trim: true, bom: true })
  } catch (error) {
    throw new InvalidInputError(file, (error as Error).message, 'CSV with a header', { cause: error })
  }
  if (rows.length === 0) throw new InvalidInputError(`${file}: rows`, 'none', 'at least one measurement')
  const columns = Object.keys(rows[0]!)
  const has = (wanted: readonly string[]) => wanted.every((column) => columns.includes(column))
  const isEpochs = has(epochColumns)
  if (!isEpochs && !has(windowColumns)) {
    throw new InvalidInputError(
      `${file}: columns`,
      columns.join(', '),
      `${windowColumns.join(', ')} (windows) or ${epochColumns.join(', ')} (epochs)`,
    )
  }
  let numbered = rows.map((row, i) => ({ row, line: i + 2 }))
  for (const column of new Set([...jobColumns, ...Object.keys(options.only ?? {})])) {
    numbered = select(numbered, column, options.only?.[column], file)
  }
  assertAlike(numbered, isEpochs ? 'power_limit' : 'power_limit_w', file)
  const number = numberReader(file)
  const measured = isEpochs
    ? numbered.map(({ row, line }) => stepOfEpoch(row, line, file, options.datasetSize, number))
    : numbered.map(
        ({ row, line }): ProfileRow => ({
          batchSize: number(row, 'batch_size', line),
          powerLimitW: number(row, 'power_limit_w', line),
          // An empty cell stands for a clock that was not locked.
          ...(row[CLOCK_COLUMN] ? { smClockMhz: number(row, CLOCK_COLUMN, line) } : {}),
          timeS: number(row, 'time_s', line),
          energyJ: number(row, 'energy_j', line),
        }),
      )
  const profile: GpuProfile = {
    name: options.name,
    unit: isEpochs ? 'step' : 'window',
    idlePowerW: null,
    rows: averageRepeats(measured),
  }
  assertProfile(profile, file)
  return profile
}

type Numbered = { readonly row: Row; readonly line: number }

/** Rows of one GPU, data set or network: two in one fit would be two different jobs. */
function select(rows: readonly Numbered[], column: string, wanted: string | undefined, file: string): Numbered[] {
  const values = [...new Set(rows.map(({ row }) => row[column]))].filter((value) => value !== undefined)
  if (wanted === undefined) {
    if (values.length > 1)
      throw new InvalidInputError(`${file}: ${column}`, values.join(', '), `one of them to be chosen`)
    return [...rows]
  }
  const chosen = rows.filter(({ row }) => row[column] === wanted)
  if (chosen.length === 0) {
    throw new InvalidInputError(
      `${file}: ${column}`,
      wanted,
      values.length > 0 ? `one of ${values.join(', ')}` : 'a column of the file',
    )
  }
  return chosen
}

/** Repeats are averaged; rows of one batch size and limit that a word tells apart are of different jobs, not repeats. */
function assertAlike(rows: readonly Numbered[], limitColumn: string, file: string): void {
  const seen = new Map<string, Numbered>()
  for (const each of rows) {
    const clock = each.row[CLOCK_COLUMN] ?? ''
    const key = `${Number(each.row['batch_size'])} ${Number(each.row[limitColumn])} ${clock}`
    const other = seen.get(key)
    if (other === undefined) {
      seen.set(key, each)
      continue
    }
    const column = Object.keys(each.row).find(
      (name) => each.row[name] !== other.row[name] && Number.isNaN(Number(each.row[name])),
    )
    if (column === undefined) continue
    throw new InvalidInputError(
      `${file}, lines ${other.line} and ${each.line}: ${column}`,
      `${other.row[column]}, ${each.row[column]}`,
      'one of them in the file: rows of one batch size and limit are averaged as repeats of one job',
    )
  }
}

function stepOfEpoch(
  row: Row,
  line: number,
  file: string,
  datasetSize: number | undefined,
  number: ReturnType<typeof numberReader>,
): ProfileRow {
  if (datasetSize === undefined) {
    throw new InvalidInputError(
      'datasetSize',
      datasetSize,
      `the samples of the data set: ${file} counts in epochs, and plans are made in steps`,
    )
  }
  const batchSize = number(row, 'batch_size', line)
  const steps = Math.ceil(datasetSize / batchSize)
  const timeS = number(row, 'time_per_epoch', line) / steps
  return {
    batchSize,
    powerLimitW: number(row, 'power_limit', line),
    timeS,
    energyJ: number(row, 'average_power', line) * timeS,
  }
}

const numberReader =
  (file: string) =>
  (row: Row, column: string, line: number): number => {
    const value = Number(row[column])
    if (row[column] === '' || !(Number.isFinite(value) && value > 0)) {
      throw new InvalidInputError(`${file}, line ${line}: ${column}`, row[column], 'a positive number')
    }
    return value
  }
