import { PctodlError } from '@pctodl/platform'
import { csvRows, quoted, SegmentFileError, toNumber } from '../map/csv-rows.js'
import type { ServiceObjective } from '../profile.js'

export interface ObjectiveFile {
  readonly text: string
  /** Its name, for messages. */
  readonly file: string
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
  const [rateRows, latencyRows] = [rowsOf(rates, models), rowsOf(latencies, models)]
  const [rateCount, latencyCount] = [rateRows.length, latencyRows.length]
  if (rateCount !== latencyCount) {
    const row = latencyRows.at(-1)?.row ?? 1
    const expected = `${rateCount}, as many as ${rates.file} has`
    throw new SegmentFileError(latencies.file, row, null, `${latencyCount} scenarios`, expected)
  }
  return rateRows.map(({ value: rateOf }, k) => {
    const { value: latencyOf } = latencyRows[k]!
    const objectives = models.map((model) => ({ model, ratePerS: rateOf(model), latencyMs: latencyOf(model) }))
    return objectives.filter(({ ratePerS, latencyMs }) => ratePerS > 0 && latencyMs > 0)
  })
}

/** Returns the scenario with a user's row number, which is counted from 1. */
export function scenarioAt<T>(scenarios: readonly T[], index: number): T {
  const scenario = scenarios[index - 1]
  if (scenario !== undefined) return scenario
  const known = `the files have rows 1 to ${scenarios.length}`
  throw new PctodlError('NO_SUCH_SCENARIO', `there is no SLO row ${index}; ${known}`)
}

interface ObjectiveRow {
  /** Number of the line in the file. */
  readonly row: number
  /** Value of a model's cell; 0 if the model is not requested. */
  readonly value: (model: string) => number
}

function rowsOf({ text, file }: ObjectiveFile, models: readonly string[]): ObjectiveRow[] {
  const rows = csvRows(text, file)
  const first = rows[0]
  if (!first) throw new SegmentFileError(file, 1, null, 'an empty file', 'one row for each scenario')
  const named = first.cells.some((cell) => !isAbsent(cell) && Number.isNaN(toNumber(cell)) && models.includes(cell))
  const columns = named ? first.cells : models
  if (named) {
    columns.forEach((name, at) => {
      const wrong = (found: string, what: string) => new SegmentFileError(file, first.row, at + 1, found, what)
      if (!models.includes(name)) throw wrong(quoted(name), `a profiled model (${models.join(', ')})`)
      if (columns.indexOf(name) !== at) throw wrong(`${quoted(name)} again`, 'it once')
    })
  }
  const source = named ? 'as in the header' : `one for each profile (${models.join(', ')})`
  const labels = columns.map((model, at) => `${at + 1} (${model})`)
  return rows.slice(named ? 1 : 0).map((each) => {
    const row = each.named(labels, `${columns.length}, ${source}`)
    const value = (model: string) => {
      const at = columns.indexOf(model)
      if (at < 0 || isAbsent(row.cells[at]!)) return 0
      return row.number(at, 'a number of at least 0, or N/A', (cell) => cell >= 0)
    }
    return { row: row.row, value }
  })
}

function isAbsent(text: string): boolean {
  return text === '' || /^n\/?a$/i.test(text)
}
