import { PctodlError } from '@pctodl/platform'
import { type CsvRow, csvRows, quoted, SegmentFileError, toNumber } from '../map/csv-rows.js'
import type { ServiceObjective } from '../profile.js'

/** A file of objectives: its text, and its name for messages. */
export interface ObjectiveFile {
  readonly text: string
  readonly file: string
}

interface ObjectiveTable {
  /** Models in the order of the columns. */
  readonly models: readonly string[]
  readonly rows: readonly CsvRow[]
}

/**
 * Reads request rates (requests/s) and latency objectives (ms). Row k of both files is scenario k, and each column is a
 * model. Without a header, there is a column for each profile, in the byte order of their file names. With a header of
 * model names, columns may have any order and models may be missing. If a cell is 0, empty or `N/A` in either file, the
 * model is not requested.
 *
 * @param models names of the profiles, in byte order of their files
 * @returns the scenarios, each with the objectives of the models that it requests
 * @throws SegmentFileError naming file, row and column
 */
export function parseObjectives(
  rates: ObjectiveFile,
  latencies: ObjectiveFile,
  models: readonly string[],
): ServiceObjective[][] {
  const rateTable = readTable(rates, models)
  const latencyTable = readTable(latencies, models)
  const [rateCount, latencyCount] = [rateTable.rows.length, latencyTable.rows.length]
  if (rateCount !== latencyCount) {
    const row = latencyTable.rows.at(-1)?.row ?? 1
    const expected = `${rateCount}, as many as ${rates.file} has`
    throw new SegmentFileError(latencies.file, row, null, `${latencyCount} scenarios`, expected)
  }
  return rateTable.rows.map((row, k) => {
    const objectives = models.map((model) => ({
      model,
      ratePerS: readCell(rateTable, row, model),
      latencyMs: readCell(latencyTable, latencyTable.rows[k]!, model),
    }))
    return objectives.filter(({ ratePerS, latencyMs }) => ratePerS > 0 && latencyMs > 0)
  })
}

/**
 * Returns the scenario with a user's row number, which is counted from 1.
 *
 * @throws PctodlError `NO_SUCH_SCENARIO`
 */
export function scenarioAt<T>(scenarios: readonly T[], index: number): T {
  const scenario = scenarios[index - 1]
  if (scenario !== undefined) return scenario
  const known = `the files have rows 1 to ${scenarios.length}`
  throw new PctodlError('NO_SUCH_SCENARIO', `there is no SLO row ${index}; ${known}`)
}

function readTable({ text, file }: ObjectiveFile, models: readonly string[]): ObjectiveTable {
  const rows = csvRows(text, file)
  const first = rows[0]
  if (!first) throw new SegmentFileError(file, 1, null, 'an empty file', 'one row for each scenario')
  const named = first.cells.some((cell) => !isAbsent(cell) && Number.isNaN(toNumber(cell)) && models.includes(cell))
  const columns = named ? namedColumns(first, file, models) : models
  const source = named ? 'as in the header' : `one for each profile (${models.join(', ')})`
  const labels = columns.map((model, at) => `${at + 1} (${model})`)
  return {
    models: columns,
    rows: rows.slice(named ? 1 : 0).map((row) => row.named(labels, `${columns.length}, ${source}`)),
  }
}

function namedColumns({ row, cells }: CsvRow, file: string, models: readonly string[]): readonly string[] {
  cells.forEach((name, at) => {
    if (!models.includes(name)) {
      throw new SegmentFileError(file, row, at + 1, quoted(name), `a profiled model (${models.join(', ')})`)
    }
    if (cells.indexOf(name) !== at) throw new SegmentFileError(file, row, at + 1, `${quoted(name)} again`, 'it once')
  })
  return cells
}

/** Value of a cell; 0 if the model is not requested. */
function readCell({ models }: ObjectiveTable, row: CsvRow, model: string): number {
  const at = models.indexOf(model)
  if (at < 0 || isAbsent(row.cells[at]!)) return 0
  return row.number(at, 'a number of at least 0, or N/A', (value) => value >= 0)
}

function isAbsent(text: string): boolean {
  return text === '' || /^n\/?a$/i.test(text)
}
