import { readFileSync } from 'node:fs'
import { parseColocationTable, parseWorkloadTable } from '../src/index.js'

export const exampleFolder = new URL('../datasets/simulated-v100/', import.meta.url)

/** The study that ships with the package, measured on a simulated V100. */
export function exampleStudy() {
  const read = (name: string) => readFileSync(new URL(name, exampleFolder), 'utf8')
  const catalog = parseWorkloadTable(read('workloads.csv'))
  const colocations = (size: number) => parseColocationTable(read(`colocations${size}.csv`), catalog)
  return { catalog, pairs: colocations(2), triples: colocations(3), quadruples: colocations(4) }
}
