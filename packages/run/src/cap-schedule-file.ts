import { readFileSync } from 'node:fs'
import { type CapSchedule, capSchedule, InvalidInputError } from '@pctodl/platform'

const HEADER = 'time_s,power_cap_w'

/**
 * Reads a cap schedule from a CSV file with the columns `time_s` (seconds since the start, ascending from 0) and
 * `power_cap_w`.
 *
 * @throws InvalidInputError with file and row
 */
export function readCapSchedule(file: string): CapSchedule {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInputError('--cap-schedule', file, 'a file that can be read', { cause: error })
  }
  const [header, ...rows] = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  if (header?.replaceAll(' ', '') !== HEADER) throw new InvalidInputError(`${file}, row 1`, header, `'${HEADER}'`)
  const steps = rows.map((row, i) => {
    const cells = row.split(',').map((cell) => (cell.trim() === '' ? Number.NaN : Number(cell)))
    if (cells.length !== 2 || cells.some((cell) => !Number.isFinite(cell))) {
      throw new InvalidInputError(`${file}, row ${i + 2}`, row, 'two numbers: seconds, watts')
    }
    return { atMs: cells[0]! * 1000, powerCapW: cells[1]! }
  })
  try {
    return capSchedule(steps)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    const wanted = 'times from 0 on that ascend, and positive watts'
    throw new InvalidInputError(`${file}: ${error.field}`, error.value, wanted, { cause: error })
  }
}
