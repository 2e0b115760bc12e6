import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { parse } from 'csv-parse/sync'
import { resultsColumns } from '../table/results-csv.js'
import type { ComparedRun } from './compare-runs.js'

const RESULT_FILE =
  /^(\w+_[a-z0-9-]+)\/(\d+_.+?_(?:[\d.]+W|power_\w+?|dynamic)(?:_[\d.]+(?:x|ms)|_equal-p99)?(?:_x[\d.]+)?(?:_max-load)?)(?:_v\d+)?(?:_(?:seed|run)\d+)?(?:_repeat\d+)?\.csv$/

/**
 * Reads the result files of a folder. They may be from this project or from the runner of PctoDL's Python code, which
 * uses the same file names and columns. The runs get names of the form
 * `<GPU>_<algorithm>/<id>_<model>_<dataset>_<cap>`, which contain neither seed nor repetition nor individual board.
 *
 * @throws InvalidInputError for an invalid file, with file name, row and column
 */
export function readResultFolder(folder: string): ComparedRun[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'))
  return files.sort().flatMap((file) => {
    const name = RESULT_FILE.exec(file)
    return name ? [{ run: `${name[1]}/${name[2]}`, ...readResultFile(path.join(folder, file)) }] : []
  })
}

function readResultFile(file: string): Omit<ComparedRun, 'run'> {
  const rows: Record<string, string>[] = parse(readFileSync(file), { columns: true, skip_empty_lines: true })
  for (const column of resultsColumns) {
    if (rows[0] && !(column in rows[0])) {
      throw new InvalidInputError(`${file}: columns`, Object.keys(rows[0]).join(','), `the column ${column}`)
    }
  }
  const figures = (column: string) =>
    rows.flatMap((row, i) => {
      const text = row[column]!
      if (text === '') return []
      const value = Number(text)
      if (!Number.isFinite(value)) throw new InvalidInputError(`${file}: row ${i + 2}, ${column}`, text, 'a number')
      return [value]
    })
  return { throughput: figures('throughput_total'), powerW: figures('power_avg') }
}
