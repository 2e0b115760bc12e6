import type { RunFile } from '../carry-out/plan-file.js'
import { clockColumn } from './clock-column.js'
import { formatTable } from './table.js'

/** What a finished run took, per GPU and in total. */
export function formatRun({ gpus, timeS, energyJ, steady }: RunFile): string {
  const clocks = clockColumn(gpus)
  const rows = gpus.map((gpu, i) => [
    gpu.name,
    String(gpu.share),
    gpu.powerLimitW === null ? 'left out' : String(gpu.powerLimitW),
    ...clocks.cells[i]!,
    gpu.timeS.toFixed(2),
    gpu.energyJ.toFixed(1),
  ])
  const total = ['total', '', '', ...clocks.head.map(() => ''), timeS.toFixed(2), energyJ.toFixed(1)]
  const table = formatTable(['GPU', 'share', 'limit W', ...clocks.head, 'time s', 'energy J'], [...rows, total])
  if (steady === null) return table
  const joules = Object.values(steady.energyJ).reduce((sum, value) => sum + value, 0)
  return (
    `${table}\nsteady: ${steady.steps} steps, ${(steady.timeS / steady.steps).toPrecision(4)} s and ` +
    `${(joules / steady.steps).toPrecision(4)} J each`
  )
}
