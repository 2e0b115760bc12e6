import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { type Clock, type Gpu, PctodlError, type Tenant, type TenantCounters, type TenantPool } from '@pctodl/platform'
import { type Colocation, membersKey } from '../colocation.js'
import { assertInput } from '../input-checks.js'
import { formatColocationTable, parseColocationTable } from '../tables/study-tables.js'
import { parseWorkloadName, type WorkloadCatalog } from '../workload.js'

export interface MeasuringOptions {
  readonly tenantOf?: (name: string) => Tenant
  readonly signal?: AbortSignal
  /** Warm-up after the start, not counted, ms. Default 5 s. */
  readonly warmUpMs?: number
  /** Time over which all members are counted, ms. Default 30 s. */
  readonly windowMs?: number
  /** Board of the pool; its energy counter gives the mean power over the window. Default: power is not measured. */
  readonly gpu?: Pick<Gpu, 'sample'>
}

export type CoRunnerMeasurement =
  | { readonly names: readonly string[]; readonly throughputs: readonly number[]; readonly powerW?: number }
  | { readonly names: readonly string[]; readonly failure: string }

/** Minimum number of batches that every member must complete in the window. */
const MIN_BATCHES = 3

/**
 * Tenant that runs a workload on the full board; network and batch size come from its name.
 *
 * @throws InvalidInputError for a training workload, since tenants only run inference
 */
export function tenantOfWorkload(name: string): Tenant {
  const { model, batchSize, training } = parseWorkloadName(name)
  assertInput(!training, 'workload', name, 'an inference workload; a pool of tenants cannot train')
  return { model, batchSize, mpsPercent: 100 }
}

/**
 * Runs workloads together on a pool and measures their throughputs over one common window. Each throughput counts from
 * the last batch completed before the window to the last batch completed in it. The pool keeps running; the caller
 * stops it.
 *
 * @param names of workloads, one tenant each; a single name gives its exclusive throughput
 * @param pool must allow shares that sum to more than 100 %
 * @throws PctodlError `WINDOW_TOO_SHORT` if a member completes fewer than three batches; `NO_ENERGY_COUNTER` if `gpu`
 *   has no energy counter
 */
export async function measureCoRunners(
  pool: TenantPool,
  clock: Clock,
  names: readonly string[],
  options: MeasuringOptions = {},
): Promise<CoRunnerMeasurement> {
  const { warmUpMs = 5_000, windowMs = 30_000, gpu, tenantOf = tenantOfWorkload, signal } = options
  assertInput(windowMs > 0, 'windowMs', windowMs, 'above 0')
  assertInput(warmUpMs >= 0, 'warmUpMs', warmUpMs, 'at least 0')
  await pool.apply(names.map(tenantOf), signal ? { signal } : {})
  await clock.sleep(warmUpMs, signal)
  const begin = pool.counters()
  const beginJ = gpu && (await energyOf(gpu))
  await clock.sleep(windowMs, signal)
  const end = pool.counters()
  const power = gpu && beginJ !== undefined ? { powerW: (1000 * ((await energyOf(gpu)) - beginJ)) / windowMs } : {}
  const isGone = begin.length !== end.length
  const failure = end.map(failureOf).find((text) => text !== undefined) ?? (isGone ? 'a member is gone' : undefined)
  if (failure !== undefined) return { names, failure }
  return {
    names,
    throughputs: end.map((counters, i) => throughputOf(names[i]!, begin[i]!, counters, windowMs)),
    ...power,
  }
}

async function energyOf(gpu: Pick<Gpu, 'sample'>): Promise<number> {
  const { energyJ } = await gpu.sample()
  const problem = 'the board has no energy counter; omit `gpu` to measure without power'
  if (energyJ === null) throw new PctodlError('NO_ENERGY_COUNTER', problem)
  return energyJ
}

function failureOf({ state, failure, tenant }: TenantCounters): string | undefined {
  return state === 'running' ? undefined : `${tenant.model} x ${tenant.batchSize}: ${failure ?? `still ${state}`}`
}

/** samples/s */
function throughputOf(name: string, begin: TenantCounters, end: TenantCounters, windowMs: number): number {
  const restarted = `${name}: its process was restarted in the window; measure again`
  if (begin.id !== end.id) throw new PctodlError('TENANT_RESTARTED', restarted)
  const batches = end.batches - begin.batches
  const few = `${name}: ${batches} batches in ${windowMs} ms, expected at least ${MIN_BATCHES}; use a longer window`
  if (batches < MIN_BATCHES) throw new PctodlError('WINDOW_TOO_SHORT', few)
  return (1000 * (end.samples - begin.samples)) / (end.lastCompletionMs - begin.lastCompletionMs)
}

export interface CollectOptions extends MeasuringOptions {
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
  const sizes = [...new Set(plan.map((names) => names.length))]
  const tables = new Map(sizes.map((size) => [size, readTable(folder, size, catalog)]))
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
