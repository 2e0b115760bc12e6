/**
 * How well the model fits what is closest to measurements of real boards: `pnpm --filter @pctodl/published accuracy <folder>`
 * takes a folder with `surrogate_anchor.csv`, cross-validates the model on the surrogate with whole (network, share, batch) groups held out, prints the errors, and ends
 * with code 1 where a median over a board is above its bar. One fit for each memory clock, as the Python code makes them: the
 * surrogate does not say what clock the power limit left, and that is not the same at both.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fitPerfModel, type RowPrediction } from '@pctodl/perf-model'
import { findGpuSpec } from '@pctodl/platform'
import { surrogateBoards, surrogateRows } from './surrogate-rows.js'

const THROUGHPUT_BAR = 2.5
const POWER_BAR = 2

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  throw new Error(
    'name the folder with surrogate_anchor.csv, 5,523 rows of seven networks: the repository has the 526 rows of two, on which test/surrogate.slow.test.ts judges',
  )
}
const csv = readFileSync(path.join(folder, 'surrogate_anchor.csv'), 'utf8')
for (const board of Object.keys(surrogateBoards) as (keyof typeof surrogateBoards)[]) {
  const rows = surrogateRows(csv, board)
  const predictions: RowPrediction[] = []
  for (const memClockMhz of new Set(rows.map((row) => row.memClockMhz))) {
    const ofClock = rows.filter((row) => row.memClockMhz === memClockMhz)
    const options = { source: 'surrogate', folds: 5, starts: 1, unlockedClock: 'nominal' } as const
    const { report } = fitPerfModel(ofClock, findGpuSpec(surrogateBoards[board]), options)
    predictions.push(...report.predictions)
    console.log(summary(`${board}, memory ${memClockMhz} MHz`, report.predictions).text)
  }
  for (const name of new Set(rows.map((row) => row.tenants[0]!.model))) {
    const ofNetwork = predictions.filter(({ row }) => row.tenants[0]!.model === name)
    console.log(summary(`  ${name}`, ofNetwork).text)
  }
  const { text, throughput, power } = summary(board, predictions)
  const kept = throughput <= THROUGHPUT_BAR && power <= POWER_BAR
  console.log(`${text}  ${kept ? 'within' : 'ABOVE'} the bar of ${THROUGHPUT_BAR} % and ${POWER_BAR} %\n`)
  if (!kept) process.exitCode = 1
}

function summary(name: string, predictions: readonly RowPrediction[]) {
  const sorted = (error: (entry: RowPrediction) => number) => predictions.map(error).sort((a, b) => a - b)
  const at = (errors: readonly number[], part: number) => errors[Math.floor(part * (errors.length - 1))]!
  const t = sorted(({ row, throughput }) => 100 * Math.abs(throughput / row.throughput - 1))
  const p = sorted(({ row, powerW }) => 100 * Math.abs(powerW / row.powerAverageW - 1))
  const show = (errors: readonly number[]) => `${at(errors, 0.5).toFixed(2)} / ${at(errors, 0.95).toFixed(1)} %`
  const text = `${name.padEnd(26)} ${String(predictions.length).padStart(5)} rows  throughput ${show(t)}  power ${show(p)}`
  return { text, throughput: at(t, 0.5), power: at(p, 0.5) }
}
