/**
 * How far a profile of a simulated board is from what the board settles to, by its own truth.
 *
 *   pnpm --filter @pctodl/profiler accuracy <trace.csv> <board>
 */
import { simulateSteadyState } from '@pctodl/gpu-sim'
import { readTrace } from '@pctodl/profiler'

const [file, board] = process.argv.slice(2)
if (file === undefined || board === undefined) throw new Error('name a trace and its board')
const truth = simulateSteadyState(board)
const errors = { throughput: [] as number[], power: [] as number[], energy: [] as number[] }
for (const row of readTrace(file)) {
  if (row.failed || row.targetSmClockMhz === null) continue
  const settled = truth({ tenants: row.tenants, smClockMhz: row.targetSmClockMhz, memClockMhz: row.memClockMhz })
  errors.throughput.push(100 * Math.abs(row.throughput / settled.throughput - 1))
  errors.power.push(100 * (row.powerAverageW / settled.powerW - 1))
  if (row.energyJ !== null) errors.energy.push(100 * (row.energyJ / (row.windowMs / 1000) / settled.powerW - 1))
}
for (const [name, values] of Object.entries(errors)) {
  values.sort((a, b) => a - b)
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(share * values.length))]!.toFixed(2)
  console.log(
    `${name}: ${values.length} rows, p5 ${at(0.05)} %, median ${at(0.5)} %, p95 ${at(0.95)} %, max ${at(1)} %`,
  )
}
