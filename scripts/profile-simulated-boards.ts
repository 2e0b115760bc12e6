/**
 * Profiles the simulated boards with 900 random mixes at each memory clock, through the profiler that also measures real
 * boards. The measured unit has a calibrated power sensor without gain or offset error, because shipped parameters
 * describe the board type, and sensor errors belong to one unit. Writes `<folder>/<board>.csv`.
 *
 *   pnpm profile-boards <folder> [board ...]
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { calibratedBoards, physicsOfBoard, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { findGpuSpec, formatTraceCsv, networkNames, VirtualClock } from '@pctodl/platform'
import { makePlan, mixSweep, type ProfileRow, runPlan } from '@pctodl/profiler'
import { printUsage, scriptOptions } from './evaluation/script-options.js'

const [folder, ...boards] = scriptOptions(import.meta.filename, {}, true).positionals
if (folder === undefined) printUsage(import.meta.filename, 2)
mkdirSync(folder, { recursive: true })
for (const board of boards.length > 0 ? boards : calibratedBoards) {
  const spec = findGpuSpec(board)
  const mixes = spec.performanceMemClocksMhz.flatMap((memClockMhz) =>
    mixSweep(spec, networkNames, memClockMhz, { count: 900, seed: 20_260 }),
  )
  const clock = new VirtualClock()
  const physics = physicsOfBoard(board)
  const gpu = new SimulatedGpu(board, {
    clock,
    seed: 7,
    physics: { ...physics, sensor: { ...physics.sensor, gainSigma: 0, gainRange: [1, 1], offsetSigmaW: 0 } },
  })
  const rows: ProfileRow[] = []
  await runPlan(
    { gpu, tenants: new SimulatedTenants(gpu), clock, livesInProcess: true },
    makePlan(spec, mixes, { seed: 20_260 }),
    { onRow: (row) => rows.push(row) },
  )
  writeFileSync(path.join(folder, `${spec.key}.csv`), formatTraceCsv(rows))
  const failed = rows.filter((row) => row.failed).length
  console.log(`${spec.key}: ${rows.length} configurations, ${failed} of them without a measurement`)
}
