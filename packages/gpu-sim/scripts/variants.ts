/**
 * Whether the variants of the calibrated boards fit what the boards were fitted to as well as the boards do: errors on the half of the
 * surrogate that no fit has seen, and on the watts measured on real boards, for each structure. Prints Markdown.
 *
 *   pnpm --filter @pctodl/gpu-sim variants <folder with surrogate_anchor.csv> [--count 40] [--thin 5]
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { quantile } from '@pctodl/numerics'
import { boardVariants, calibratedBoards, physicsOfBoard, simulateSteadyState } from '../src/index.js'
import { powersOfAnchors } from './anchors.js'
import { readSurrogate, type SurrogateRow } from './surrogate.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '40' }, thin: { type: 'string', default: '5' } },
})
const [folder] = positionals
if (folder === undefined) throw new Error('name the folder that holds surrogate_anchor.csv')
const thin = Number(values.thin)
const all = readSurrogate(path.join(folder, 'surrogate_anchor.csv')).filter((row) => row.heldOut && !row.doubtful)

interface Errors {
  readonly throughput: number
  readonly throughputP90: number
  readonly power: number
  readonly powerP90: number
  readonly anchors: number
}

function errorsOf(
  simulate: ReturnType<typeof simulateSteadyState>,
  rows: readonly SurrogateRow[],
  anchors: number,
): Errors {
  const states = rows.map((row) => simulate(row.configuration))
  const throughput = rows.map((row, i) => 100 * Math.abs(states[i]!.throughput / row.throughput - 1))
  const power = rows.map((row, i) => 100 * Math.abs(states[i]!.powerW / row.powerW - 1))
  return {
    throughput: quantile(throughput, 0.5),
    throughputP90: quantile(throughput, 0.9),
    power: quantile(power, 0.5),
    powerP90: quantile(power, 0.9),
    anchors,
  }
}

const anchorError = (board: string, physics: Parameters<typeof powersOfAnchors>[1]) =>
  quantile(
    powersOfAnchors(board, physics).map(({ simulatedW, measuredW }) => 100 * Math.abs(simulatedW / measuredW - 1)),
    0.5,
  )

console.log(
  '| board | structure | variants | throughput, median / p90 | power, median / p90 | measured watts, median |',
)
console.log('| --- | --- | --- | --- | --- | --- |')
const pair = (errors: readonly Errors[], a: keyof Errors, b: keyof Errors) =>
  `${range(errors.map((each) => each[a]))} / ${range(errors.map((each) => each[b]))}`
function range(each: readonly number[]): string {
  const [low, middle, high] = [0, 0.5, 1].map((q) => quantile(each, q).toFixed(1))
  return each.length === 1 ? `${middle} %` : `${middle} (${low} to ${high}) %`
}
for (const board of calibratedBoards) {
  const rows = all.filter((row) => row.board === board).filter((_, i) => i % thin === 0)
  const line = (name: string, count: number, errors: readonly Errors[]) =>
    console.log(
      `| ${board} | ${name} | ${count} | ${pair(errors, 'throughput', 'throughputP90')} | ${pair(errors, 'power', 'powerP90')} | ${range(errors.map((each) => each.anchors))} |`,
    )
  line('the board itself', 1, [errorsOf(simulateSteadyState(board), rows, anchorError(board, physicsOfBoard(board)))])
  const byStructure = new Map<string, Errors[]>()
  for (const variant of boardVariants(board, { count: Number(values.count) })) {
    // With the board's own firmware: no row of the surrogate was measured under a plateau that was drawn.
    const physics = { ...variant.physics, firmware: physicsOfBoard(board).firmware }
    const simulate = simulateSteadyState({ ...variant, physics })
    const { contention, saturation } = variant.physics.work
    const name = `${contention}, ${saturation}, ${variant.physics.power.voltageCurve}, overlap ${variant.host.overlap}`
    const errors = errorsOf(simulate, rows, anchorError(board, physics))
    byStructure.set(name, [...(byStructure.get(name) ?? []), errors])
  }
  for (const [name, errors] of byStructure) line(name, errors.length, errors)
}
