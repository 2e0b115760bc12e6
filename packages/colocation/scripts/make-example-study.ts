/**
 * Measure the example study `datasets/simulated-v100`: a simulated V100, networks of the model zoo alone and in co-runners.
 * Run it with `pnpm example-study`; it goes on where it stopped.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SimulatedGpu, SimulatedTenants, tenantFootprint } from '@pctodl/gpu-sim'
import { networkNames, VirtualClock } from '@pctodl/platform'
import {
  allColocationsOf,
  collectTables,
  formatWorkloadTable,
  measureCoRunners,
  occurrencePlan,
  parseWorkloadTable,
  type Workload,
} from '../src/index.js'
import { simulatedKernelMetrics } from './simulated-kernel-metrics.js'

const BOARD = 'V100'
const BATCH_SIZES = [2, 8, 32]
const SEED = 1

const folder = path.resolve(import.meta.dirname, '..', 'datasets', 'simulated-v100')
const clock = new VirtualClock()
const gpu = new SimulatedGpu(BOARD, { clock, seed: SEED })
const WINDOW = { warmUpMs: 2_000, windowMs: 10_000, gpu }
const pool = new SimulatedTenants(gpu, { oversubscribe: true })
mkdirSync(folder, { recursive: true })

/** A workload measured alone: throughput by the pool, utilisation by the board's sensors, kernels from the layers. */
async function solo(model: string, batchSize: number): Promise<Workload> {
  const name = `${model}_batch${batchSize}-inf`
  const measured = await measureCoRunners(pool, clock, [name], WINDOW)
  if ('failure' in measured) throw new Error(`${name}: ${measured.failure}`)
  const { smUtilPercent, memUtilPercent } = await gpu.sample()
  if (smUtilPercent === null || memUtilPercent === null) throw new Error(`${name}: no utilisation was read`)
  const { memoryBytes } = tenantFootprint(gpu, { model, batchSize, mpsPercent: 100 })
  return {
    name,
    batchSize,
    training: false,
    ...simulatedKernelMetrics(gpu.spec, model, batchSize),
    exclusiveThroughput: measured.throughputs[0]!,
    smUtilPercent,
    memUtilPercent,
    memoryGib: Math.round((memoryBytes / 1024 ** 3) * 10) / 10,
    powerW: measured.powerW!,
  }
}

try {
  const workloadFile = path.join(folder, 'workloads.csv')
  if (!existsSync(workloadFile)) {
    const workloads: Workload[] = []
    for (const model of networkNames) for (const batchSize of BATCH_SIZES) workloads.push(await solo(model, batchSize))
    writeFileSync(workloadFile, formatWorkloadTable(workloads))
  }
  const catalog = parseWorkloadTable(readFileSync(workloadFile, 'utf8'), workloadFile)
  const plan = [
    ...allColocationsOf(catalog.names, 2),
    ...occurrencePlan(allColocationsOf(catalog.names, 3), 12, SEED),
    ...occurrencePlan(allColocationsOf(catalog.names, 4), 12, SEED),
  ]
  const failures = await collectTables(pool, clock, catalog, plan, folder, {
    ...WINDOW,
    onMeasured: ({ names }, left) => console.error(`${left} left: ${names.join(' + ')}`),
  })
  for (const { names, ...rest } of failures) console.error(`${names.join(' + ')}: ${JSON.stringify(rest)}`)
} finally {
  await pool.stop()
}
