import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { parseSplits, type Split } from '../evaluate/splits.js'
import { type ColocationRow, parseColocationTable } from '../tables/colocation-table.js'
import { parseWorkloadTable } from '../tables/workload-table.js'
import type { WorkloadCatalog } from '../workload.js'

/** Measurements of one board, as a folder of tables. */
export interface Study {
  readonly catalog: WorkloadCatalog
  /** Measured colocations by number of members. */
  readonly colocations: ReadonlyMap<number, readonly ColocationRow[]>
  /** Published splits of the pairs by n_occur; empty where the folder has none. */
  readonly occurrenceSplits: ReadonlyMap<string, readonly Split[]>
  /** Published splits of the triples by the ratio of training rows; empty where the folder has none. */
  readonly ratioSplits: ReadonlyMap<string, readonly Split[]>
}

/** Names of the tables: ours first, then those under which the published measurements lie. */
const WORKLOADS = ['workloads.csv', 'workloads_kace.csv']
const SIZES = [2, 3, 4, 5, 6, 7, 8, 9]
const OCCURRENCE_SPLITS = path.join('splits2', 'n_occur_splits.json')
const RATIO_SPLITS = path.join('splits2', 'train_ratio_splits3.json')

/**
 * Read `workloads.csv` and `colocations2.csv`, `colocations3.csv`, ... of a folder, and its splits if it has any.
 *
 * @throws PctodlError where the folder lacks a table; TableError where one cannot be read
 */
export function readStudy(folder: string): Study {
  const workloads = WORKLOADS.find((name) => existsSync(path.join(folder, name)))
  if (!workloads) {
    throw new PctodlError(
      'NO_STUDY',
      `${folder} has no ${WORKLOADS.join(' or ')}: expected a folder of measured tables`,
    )
  }
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const catalog = parseWorkloadTable(read(workloads), workloads)
  const colocations = new Map<number, ColocationRow[]>()
  for (const size of SIZES) {
    const name = [`colocations${size}.csv`, `colocations${size}_dev.csv`].find((file) =>
      existsSync(path.join(folder, file)),
    )
    if (name) colocations.set(size, parseColocationTable(read(name), catalog, name))
  }
  if (colocations.size === 0) {
    throw new PctodlError('NO_STUDY', `${folder} has no colocations2.csv (or 3, 4, ...): expected measured colocations`)
  }
  const splitsOf = (size: number, name: string) => {
    const rows = colocations.get(size)
    return rows && existsSync(path.join(folder, name)) ? parseSplits(read(name), rows, name) : new Map()
  }
  return {
    catalog,
    colocations,
    occurrenceSplits: splitsOf(2, OCCURRENCE_SPLITS),
    ratioSplits: splitsOf(3, RATIO_SPLITS),
  }
}

/** All measured colocations of a study, of every size. */
export function allColocations({ colocations }: Study): ColocationRow[] {
  return [...colocations.values()].flat()
}
