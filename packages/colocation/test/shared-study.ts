import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseColocationTable, parseSplits, parseWorkloadTable } from '../src/index.js'

/** Measurements of the published study, which may not be shipped: beside the repository, or nowhere. */
const folder = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'shared', 'data', 'kace')

export const studyIsThere = existsSync(folder)
export const skipNote = studyIsThere ? '' : ' (skipped: ../shared/data/kace is not beside the repository)'

export const readStudy = (name: string) => readFileSync(path.join(folder, name), 'utf8')

export function studyCatalog() {
  return parseWorkloadTable(readStudy('workloads_kace.csv'), 'workloads_kace.csv')
}

export function studyPairs() {
  return parseColocationTable(readStudy('colocations2.csv'), studyCatalog(), 'colocations2.csv')
}

export function studySplits() {
  return parseSplits(readStudy('splits2/n_occur_splits.json'), studyPairs())
}

/** Rows of a small CSV without quotes, by header. */
export function studyRows(name: string): Record<string, string>[] {
  const [header = '', ...lines] = readStudy(name).trim().split(/\r?\n/)
  const columns = header.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [columns[i]!, cell])))
}
