import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { type ColocationRow, parseColocationTable } from '../tables/colocation-table.js'
import { parseWorkloadTable } from '../tables/workload-table.js'
import type { WorkloadCatalog } from '../workload.js'

/** Measurements of one board, as a folder of tables. */
export interface Study {
  readonly catalog: WorkloadCatalog
  /** Measured colocations by number of members. */
  readonly colocations: ReadonlyMap<number, readonly ColocationRow[]>
}

/** Possible names of the table of workloads: this project's, then the published one. */
const WORKLOADS = ['workloads.csv', 'workloads_kace.csv']
const SIZES = [2, 3, 4, 5, 6, 7, 8, 9]

/**
 * Read `workloads.csv` and `colocations2.csv`, `colocations3.csv`, ... of a folder.
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
  return { catalog, colocations }
}

/** All measured colocations of a study, of every size. */
export function allColocations({ colocations }: Study): ColocationRow[] {
  return [...colocations.values()].flat()
}
