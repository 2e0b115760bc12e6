import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import type { Clock, Tenant, TenantPool } from '@pctodl/platform'
import { type Colocation, membersKey } from '../colocation.js'
import { formatColocationTable, parseColocationTable } from '../tables/colocation-table.js'
import type { WorkloadCatalog } from '../workload.js'
import { type CoRunnerMeasurement, type MeasuringWindow, measureCoRunners } from './measure-co-runners.js'

export interface CollectOptions extends MeasuringWindow {
  readonly tenantOf?: (name: string) => Tenant
  readonly signal?: AbortSignal
  /** Called after each measured colocation. Colocations already in the folder are neither measured nor reported. */
  readonly onMeasured?: (measurement: CoRunnerMeasurement, left: number) => void
}

/**
 * Measure planned colocations and store them as `colocations2.csv`, `colocations3.csv`, ... in a folder. Files are
 * rewritten after each measurement, so an interrupted run can be resumed.
 *
 * @param plan names of the members of each colocation
 * @returns the failed measurements, with reasons
 */
export async function collectTables(
  pool: TenantPool,
  clock: Clock,
  catalog: WorkloadCatalog,
  plan: readonly (readonly string[])[],
  folder: string,
  options: CollectOptions = {},
): Promise<CoRunnerMeasurement[]> {
  const failures: CoRunnerMeasurement[] = []
  const tables = new Map(
    [...new Set(plan.map((names) => names.length))].map((size) => [size, readTable(folder, size, catalog)]),
  )
  const todo = plan.filter((names) => {
    const key = membersKey(catalog.all(names))
    return !tables.get(names.length)!.some(({ members }) => membersKey(members) === key)
  })
  for (const [done, names] of todo.entries()) {
    const measurement = await measureCoRunners(pool, clock, names, options)
    if ('failure' in measurement) failures.push(measurement)
    else {
      const table = tables.get(names.length)!
      const { throughputs, powerW } = measurement
      table.push({ members: catalog.all(names), throughputs, ...(powerW === undefined ? {} : { powerW }) })
      writeFileAtomically(tableFile(folder, names.length), formatColocationTable(table))
    }
    options.onMeasured?.(measurement, todo.length - done - 1)
  }
  return failures
}

function tableFile(folder: string, size: number): string {
  return path.join(folder, `colocations${size}.csv`)
}

function readTable(folder: string, size: number, catalog: WorkloadCatalog) {
  const file = tableFile(folder, size)
  if (!existsSync(file)) return []
  return parseColocationTable(readFileSync(file, 'utf8'), catalog, file).map(
    ({ row: _, ...colocation }): Colocation => colocation,
  )
}
