/**
 * Profiles the simulated boards with random mixes, through the profiler that also measures real boards. The measured
 * unit has a calibrated power sensor without gain or offset error, because shipped parameters describe the board type,
 * and sensor errors belong to one unit. Writes `<folder>/<board>.csv`.
 *
 *   pnpm profile-boards <folder> [board ...]
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { calibratedBoards, physicsOfBoard, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { findGpuSpec, formatTraceCsv, networkNames, VirtualClock } from '@pctodl/platform'
import { makePlan, mixSweep, type ProfileRow, runPlan } from '@pctodl/profiler'

/** Number of mixes at each memory clock. */
const MIXES = 900

const [folder, ...boards] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder to write to')
mkdirSync(folder, { recursive: true })
for (const board of boards.length > 0 ? boards : calibratedBoards) {
  const spec = findGpuSpec(board)
  const seed = 20_260
  const mixes = spec.performanceMemClocksMhz.flatMap((memClockMhz) =>
    mixSweep(spec, networkNames, memClockMhz, { count: MIXES, seed }),
  )
  const plan = makePlan(spec, mixes, { seed })
  const clock = new VirtualClock()
  const physics = physicsOfBoard(board)
  const sensor = { ...physics.sensor, gainSigma: 0, gainRange: [1, 1] as const, offsetSigmaW: 0 }
  const gpu = new SimulatedGpu(board, { clock, seed: 7, physics: { ...physics, sensor } })
  const rows: ProfileRow[] = []
  await runPlan({ gpu, tenants: new SimulatedTenants(gpu), clock, livesInProcess: true }, plan, {
    onRow: (row) => rows.push(row),
  })
  writeFileSync(path.join(folder, `${spec.key}.csv`), formatTraceCsv(rows))
  const failed = rows.filter((row) => row.failed).length
  console.log(`${spec.key}: ${rows.length} configurations, ${failed} of them without a measurement`)
}
