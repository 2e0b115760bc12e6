import { findGpuSpec } from '@pctodl/platform'
import { exampleFolder, loadObjectives, loadProfiles, planSegments } from '../src/index.js'
import { idlePowerW, runBoard } from './simulated-fleet.js'

// Prints what plans of the example profiles deliver and draw on simulated boards under their caps, and what a plan that knows no
// watts delivers there.
const table = []
for (const board of ['A100-80GB', 'H100']) {
  const profiles = loadProfiles(exampleFolder(board))
  const models = profiles.map(({ model }) => model)
  const idleW = await idlePowerW(board)
  const { powerLimitW } = findGpuSpec(board)
  for (const share of [0.45, 0.6, 0.8]) {
    const boardW = Math.max(powerLimitW.min, Math.round(share * powerLimitW.max))
    for (const [row, objectives] of loadObjectives(exampleFolder('example-objectives'), models).entries()) {
      for (const knowsCap of [true, false]) {
        const plan = await planSegments(profiles, objectives, {
          ...(knowsCap && { powerCap: { boardW, idleW } }),
        })
        const sum = { planned: 0, met: 0, delivered: 1, predictedW: 0, drawnW: 0, worst: 0, aboveCap: 0 }
        for (const gpu of plan.gpus) {
          const run = await runBoard(board, gpu, boardW)
          const predictedW = gpu.segments.reduce((watts, { powerW }) => watts + powerW!, idleW)
          sum.planned += run.plannedPerS
          sum.met += run.metPerS
          sum.delivered = Math.min(sum.delivered, run.delivered)
          sum.predictedW += predictedW
          sum.drawnW += run.powerW
          sum.worst = Math.max(sum.worst, Math.abs(run.powerW / predictedW - 1))
          if (run.powerW > boardW) sum.aboveCap++
        }
        table.push({
          board,
          'cap W': boardW,
          row: row + 1,
          'plan knows it': knowsCap,
          GPUs: plan.gpuCount,
          'delivered of planned %': (100 * sum.met) / sum.planned,
          'worst segment %': 100 * sum.delivered,
          'predicted W': sum.predictedW,
          'drawn W': sum.drawnW,
          'worst board off by %': 100 * sum.worst,
          'boards above the cap': sum.aboveCap,
        })
      }
    }
  }
}
console.table(
  table.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [key, typeof value === 'number' ? Number(value.toFixed(2)) : value]),
    ),
  ),
)
