import { readFileSync } from 'node:fs'
import { type Colocation, parseColocationTable, parseWorkloadTable } from '../src/index.js'
import type { WorkloadCatalog } from '../src/workload.js'

export const exampleFolder: URL = new URL('../datasets/simulated-v100/', import.meta.url)

export interface ExampleStudy {
  readonly catalog: WorkloadCatalog
  readonly pairs: readonly Colocation[]
  readonly triples: readonly Colocation[]
  readonly quadruples: readonly Colocation[]
}

/** The study that ships with the package, measured on a simulated V100. */
export function exampleStudy(): ExampleStudy {
  const read = (name: string) => readFileSync(new URL(name, exampleFolder), 'utf8')
  const catalog = parseWorkloadTable(read('workloads.csv'))
  const colocations = (size: number) => parseColocationTable(read(`colocations${size}.csv`), catalog)
  return { catalog, pairs: colocations(2), triples: colocations(3), quadruples: colocations(4) }
}
