import { InputFileError } from '../errors.js'
import type { Job } from './job.js'

/**
 * Read a replay trace: lines `id,model,arrival seconds,iterations,gpus` without a header, as recorded by the Python
 * code.
 *
 * @param file for messages
 * @throws InputFileError naming row and field
 */
export function parseReplayCsv(text: string, file = 'trace'): Job[] {
  const jobs: Job[] = []
  const rowOfId = new Map<number, number>()
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '') return
    const row = index + 1
    const cells = line.split(',').map((cell) => cell.trim())
    if (cells.length !== 5) {
      throw new InputFileError(file, row, 'the row', line, 'five cells: id,model,arrival_s,iterations,gpus')
    }
    const [id, model, arrival, iterations, gpus] = cells as [string, string, string, string, string]
    const job: Job = {
      id: number(file, row, 'id', id, 0, true),
      model,
      arrivalS: number(file, row, 'arrival', arrival, 0, false),
      iterations: number(file, row, 'iterations', iterations, 1, true),
      gpus: number(file, row, 'gpus', gpus, 1, true),
    }
    if (model === '') throw new InputFileError(file, row, 'model', model, 'the name of a model')
    const before = rowOfId.get(job.id)
    if (before !== undefined) throw new InputFileError(file, row, 'id', id, `a unique ID (row ${before} has the same)`)
    rowOfId.set(job.id, row)
    jobs.push(job)
  })
  if (jobs.length === 0) throw new InputFileError(file, null, 'the file', text.slice(0, 40), 'at least one job')
  return jobs
}

function number(file: string, row: number, field: string, text: string, least: number, integer: boolean): number {
  const value = /^\d+(\.\d*)?(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && Number.isFinite(value)) || (integer && !Number.isSafeInteger(value))) {
    throw new InputFileError(file, row, field, text, `${integer ? 'an integer' : 'a number'} of at least ${least}`)
  }
  return value
}
