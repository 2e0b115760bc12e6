import { parseColocationTable, parseWorkloadTable } from '@pctodl/colocation'
import { golden, goldenRows } from '@pctodl/reference-data'
import { parseSplits } from '../../src/colocation/index.js'

/** What the comparisons need of the measurements of the published study. */
export const readStudy = (name: string): string => golden(`kace/${name}`)

export function studyCatalog(): ReturnType<typeof parseWorkloadTable> {
  return parseWorkloadTable(readStudy('workloads_kace.csv'), 'workloads_kace.csv')
}

export function studyPairs(): ReturnType<typeof parseColocationTable> {
  return parseColocationTable(readStudy('colocations2.csv'), studyCatalog(), 'colocations2.csv')
}

export function studySplits(): ReturnType<typeof parseSplits> {
  return parseSplits(readStudy('splits2/n_occur_splits.json'), studyPairs())
}

export const studyRows = (name: string): Record<string, string>[] => goldenRows(`kace/${name}`)
