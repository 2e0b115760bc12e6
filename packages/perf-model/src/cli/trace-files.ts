import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError, type TraceRow } from '@pctodl/platform'
import { parseTraceCsv, TraceFormatError } from '@pctodl/platform/trace-csv'
import { commonName } from '../network-of.js'

/** Folders to which the Python code's profiler writes its files, each with the prefix of the file names. */
const places = [
  { folder: 'mps_profile', stem: 'mps_results' },
  { folder: 'scale_profile', stem: 'sweep_results' },
] as const

const machines = ['a100', 'v100', 'a40', 'a6000', '3080ti', '3090', '3080', '4090', 'a10', 'a30']

export interface TraceSelection {
  readonly dataset?: string | undefined
  readonly platform?: string | undefined
}

/** Thrown if a trace file cannot be read or parsed. For a bad cell, the message names its row and column. */
export class TraceFileError extends PctodlError {
  readonly file: string

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super('TRACE_FILE', `${file}: ${problem}`, options)
    this.file = file
  }
}

/**
 * Find trace files in the Python code's layout under a folder: `mps_profile/mps_results[_dataset][_machine].csv` and
 * `scale_profile/sweep_results[_machine].csv`. The file name must contain the dataset and the platform, if they are
 * given. Exception: a sweep file whose name has no machine or no dataset matches any.
 */
export function findTraceFiles(root: string, { dataset, platform }: TraceSelection): string[] {
  const wantedDataset = dataset?.toLowerCase()
  const wantedMachine = platform?.toLowerCase().replace(/[^a-z0-9]/g, '')
  return places.flatMap(({ folder, stem }) => {
    const from = path.join(root, folder)
    if (!existsSync(from)) return []
    const names = readdirSync(from).filter((name) => name.startsWith(stem) && name.endsWith('.csv'))
    return names.sort().flatMap((name) => {
      const tokens = name
        .slice(stem.length, -'.csv'.length)
        .split('_')
        .filter((token) => token !== '')
      const machine = tokens.find((token) => machines.includes(token.toLowerCase()))
      const ofDataset = tokens
        .filter((token) => token !== machine)
        .join('_')
        .toLowerCase()
      const sweep = stem === 'sweep_results'
      const machineFits = wantedMachine === undefined || machine?.toLowerCase() === wantedMachine || (sweep && !machine)
      const datasetFits = wantedDataset === undefined || ofDataset === wantedDataset || (sweep && ofDataset === '')
      return machineFits && datasetFits ? [path.join(from, name)] : []
    })
  })
}

export interface TraceFile {
  readonly rows: readonly TraceRow[]
  /** Position of each row of `rows` among the data rows of the file, counted from 1. */
  readonly rowNumbers: readonly number[]
  /** Number of rows left out because their network is `static` (power without any tenant). */
  readonly staticRows: number
}

/**
 * Read a trace file.
 *
 * @throws TraceFileError that names the file, and the row and column of a bad cell
 */
export function readTraceFile(file: string): TraceFile {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TraceFileError(file, `cannot be read: ${(cause as Error).message}`, { cause })
  }
  const [header = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const kept = lines.flatMap((line, i) => (isStatic(line) ? [] : [{ line, number: i + 1 }]))
  const rowNumbers = kept.map((entry) => entry.number)
  try {
    const rows = parseTraceCsv([header, ...kept.map((entry) => entry.line)].join('\n'))
    return { rows, rowNumbers, staticRows: lines.length - kept.length }
  } catch (error) {
    if (!(error instanceof TraceFormatError)) throw error
    // The parser numbers only the rows that were kept, so translate back to rows of the file.
    const number = rowNumbers[error.row - 1] ?? 0
    throw new TraceFileError(file, error.message.replace(`row ${error.row},`, `row ${number},`), { cause: error })
  }
}

/**
 * Returns a check for rows whose tenants all run one of the networks, at the memory clock.
 *
 * @param networks any network if the list is empty or contains `all`
 * @param memClockMhz any memory clock if undefined
 */
export function rowFilter(networks: readonly string[], memClockMhz: number | undefined): (row: TraceRow) => boolean {
  const anyNetwork = networks.length === 0 || networks.includes('all')
  const wanted = new Set(networks.map(commonName))
  return (row) =>
    (memClockMhz === undefined || row.memClockMhz === memClockMhz) &&
    (anyNetwork || row.tenants.every(({ model }) => wanted.has(commonName(model))))
}

/**
 * True for a row of the network `static`. The word must be a whole field, so that a list containing it does not match.
 */
function isStatic(line: string): boolean {
  return /(^|,)\s*"?static"?\s*(,|$)/.test(line)
}
