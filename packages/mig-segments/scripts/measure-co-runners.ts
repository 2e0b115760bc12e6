import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  allColocationsOf,
  collectTables,
  formatWorkloadTable,
  measureCoRunners,
  parseWorkloadTable,
  type Workload,
} from '@pctodl/colocation'
import { SimulatedGpu, SimulatedTenants, tenantFootprint } from '@pctodl/gpu-sim'
import { findMigProfile, migBoard, networkNames, VirtualClock } from '@pctodl/platform'
import { simulatedKernelMetrics } from '../../colocation/scripts/simulated-kernel-metrics.js'
import { fillWithNeighbours, meanPowerW, sustainedClock } from './measure-slice.js'

// Measures what networks do to each other in one MIG instance of a simulated board, its SM clock locked at the base clock and the rest of the board
// busy, as where the example profiles are measured: the example that `co-runners` of a fleet reads. Its watts are those of an idle board and what the
// instance adds to the busy one, which is warmer.
//
//   tsx --conditions=@pctodl/source scripts/measure-co-runners.ts H100 1g.10gb 2g.20gb

const SETTLE_MS = 60_000
const BATCH_SIZES = [2, 8, 32]
const [board, ...profiles] = process.argv.slice(2)
for (const profile of profiles) {
  const folder = path.join(import.meta.dirname, '..', 'profiles', `${board}-co-runners`, profile)
  mkdirSync(folder, { recursive: true })
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board!, { clock })
  const lease = await gpu.acquire()
  await lease.lockSmClock(sustainedClock(board!))
  const pool = new SimulatedTenants(gpu, { oversubscribe: true, instance: gpu.createMigInstance(profile) })
  const idleW = await meanPowerW(gpu, clock, SETTLE_MS)
  await fillWithNeighbours(board!, gpu)
  await meanPowerW(gpu, clock, SETTLE_MS)
  const neighboursW = (await meanPowerW(gpu, clock, SETTLE_MS)) - idleW
  const alone = {
    async sample() {
      const sample = await gpu.sample()
      return { ...sample, energyJ: gpu.truth().energyJ - (neighboursW * clock.now()) / 1000 }
    },
  }
  const window = { warmUpMs: 1000, windowMs: 4000, gpu: alone }
  const spec = migBoard(gpu.spec, findMigProfile(gpu.spec, profile))
  const workloads: Workload[] = []
  for (const model of networkNames) {
    for (const batchSize of BATCH_SIZES) {
      const name = `${model}_batch${batchSize}-inf`
      const measured = await measureCoRunners(pool, clock, [name], window)
      if ('failure' in measured) continue
      const { smUtilPercent, memUtilPercent } = await gpu.sample()
      const { memoryBytes } = tenantFootprint(gpu, { model, batchSize, mpsPercent: 100 })
      workloads.push({
        ...{ name, batchSize, training: false, ...simulatedKernelMetrics(spec, model, batchSize) },
        exclusiveThroughput: measured.throughputs[0]!,
        smUtilPercent: smUtilPercent ?? 0,
        memUtilPercent: memUtilPercent ?? 0,
        memoryGib: Math.round((memoryBytes / 1024 ** 3) * 10) / 10,
        powerW: measured.powerW!,
      })
    }
  }
  const table = formatWorkloadTable(workloads)
  writeFileSync(path.join(folder, 'workloads.csv'), table)
  const catalog = parseWorkloadTable(table)
  const failures = await collectTables(pool, clock, catalog, allColocationsOf(catalog.names, 2), folder, window)
  process.stderr.write(`${board} ${profile}: ${workloads.length} workloads, ${failures.length} failures\n`)
  await pool.stop()
  await lease.release()
}
