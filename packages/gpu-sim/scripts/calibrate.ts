/**
 * Fits a board's global coefficients to the surrogate of measurements on one seeded half of the configurations, prints the
 * error on the other half, and writes `coefficients/<board>.json`.
 *
 *   pnpm --filter @pctodl/gpu-sim calibrate <folder with surrogate_anchor.csv and params/> [--board A100]
 *     [--iterations 40] [--leave-out vgg19|each] [--thin 1] [--structures] [--dry-run]
 *
 * `--structures` fits every structure of `boardStructures`, with the posterior of each, and writes
 * `coefficients/<board>.variants.json`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { quantile } from '@pctodl/numerics'
import { findGpuSpec, networkName, networkNames } from '@pctodl/platform'
import { calibratedBoards, hostOfBoard, physicsOfBoard, simulateSteadyState } from '../src/index.js'
import { anchorResiduals } from './anchors.js'
import { type BoardStructure, boardStructures } from './board-structures.js'
import { type Calibrated, fromVector, priorResiduals, toVector, typicalVector } from './free-parameters.js'
import { leastSquares } from './least-squares.js'
import { posterior, valueAt } from './posterior.js'
import { readSurrogate, type SurrogateRow } from './surrogate.js'
import { rankCorrelation } from './validate/comparison.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    iterations: { type: 'string', default: '40' },
    board: { type: 'string' },
    'leave-out': { type: 'string' },
    thin: { type: 'string', default: '1' },
    structures: { type: 'boolean', default: false },
    'dry-run': { type: 'boolean', default: false },
  },
})
const [folder = ''] = positionals
if (!existsSync(path.join(folder, 'surrogate_anchor.csv'))) {
  throw new Error(
    `no surrogate_anchor.csv in '${folder}': name the folder that holds it and params/. The repository has 526 of its 5,523 rows, too few to fit a board to`,
  )
}

const THROUGHPUT_SCALE = 0.05
const POWER_SCALE = 0.035
const CLOCK_CURVE_SCALE = 0.07

interface ClockPoint {
  readonly row: SurrogateRow
  readonly smClockMhz: number
  readonly powerW: number
}

const rows = readSurrogate(path.join(folder, 'surrogate_anchor.csv')).filter((row) => !row.doubtful)
const leftOut = values['leave-out']
if (leftOut !== undefined && leftOut !== 'each') networkName(leftOut)
for (const board of calibratedBoards) {
  if (values.board !== undefined && values.board !== board) continue
  const ofBoard = rows.filter((row) => row.board === board)
  if (values.structures) {
    write(
      `${board}.variants.json`,
      boardStructures.map((structure) => fitStructure(board, structure, ofBoard)),
      false,
    )
  } else if (leftOut === undefined) {
    const fitted = fit(board, ofBoard)
    report(fitted, board, ofBoard)
    if (values['dry-run']) continue
    write(`${board}.json`, fitted.physics)
    const { name: _, ...host } = fitted.host
    write('paper-hosts.json', { ...JSON.parse(readFileSync(coefficients('paper-hosts.json'), 'utf8')), [board]: host })
  } else {
    for (const network of leftOut === 'each' ? networkNames : [networkName(leftOut)]) {
      const [unseen, seen] = [true, false].map((out) => ofBoard.filter((row) => (row.network === network) === out))
      reportLeftOut(fit(board, seen!, 'typical'), board, network, unseen!)
    }
  }
}

function coefficients(name: string): URL {
  return new URL(`../coefficients/${name}`, import.meta.url)
}

function write(name: string, value: unknown, indented = true): void {
  writeFileSync(coefficients(name), `${JSON.stringify(value, null, indented ? 2 : 0)}\n`)
}

/**
 * Coefficients fitted to the training half of some configurations.
 *
 * @param from the shipped coefficients, or, where these would bring along what they know of a network that is left out,
 *   typical ones
 */
function fit(board: string, configurations: SurrogateRow[], from: 'shipped' | 'typical' = 'shipped'): Calibrated {
  const training = trainingRows(configurations)
  const curves = clockCurves(configurations.filter((row) => !row.heldOut))
  const start = { physics: physicsOfBoard(board), host: hostOfBoard(findGpuSpec(board), 'paper') }
  console.log(`${board}: ${training.length} configurations to fit, ${curves.length} points along the clock`)
  const residuals = (vector: Float64Array) => residualsOf(start, vector, board, training, curves)
  const fitted = leastSquares(residuals, from === 'typical' ? typicalVector() : toVector(start), {
    iterations: Number(values.iterations),
    onIteration: (iteration, cost) => console.log(`  iteration ${iteration}: cost ${cost.toFixed(1)}`),
  })
  return fromVector(start, fitted)
}

/** The half that may be fitted to; of it every so many, where `--thin` says so. */
function trainingRows(configurations: readonly SurrogateRow[]): SurrogateRow[] {
  return configurations.filter((row) => !row.heldOut).filter((_, i) => i % Number(values.thin) === 0)
}

/** The shipped coefficients refitted under another structure, and the posterior around them. */
function fitStructure(board: string, structure: BoardStructure, configurations: SurrogateRow[]) {
  const training = trainingRows(configurations)
  const curves = clockCurves(configurations.filter((row) => !row.heldOut))
  const { contention, saturation, voltageCurve, overlap, name } = structure
  const shipped = physicsOfBoard(board)
  const start: Calibrated = {
    physics: {
      ...shipped,
      work: { ...shipped.work, contention, saturation },
      power: { ...shipped.power, voltageCurve },
    },
    host: { ...hostOfBoard(findGpuSpec(board), 'paper'), overlap },
  }
  const residuals = (vector: Float64Array) => residualsOf(start, vector, board, training, curves)
  console.log(`${board}, ${name}`)
  const optimum =
    name === boardStructures[0]!.name
      ? toVector(start)
      : leastSquares(residuals, toVector(start), { iterations: Number(values.iterations) })
  const fitted = fromVector(start, optimum)
  const { paths, spread, relativeErrors } = posterior(residuals, optimum, start)
  report(fitted, board, configurations)
  paths.forEach((path, i) => {
    const value = valueAt(fitted, path.split('.'))
    console.log(`  ${path}: ${value} +- ${(100 * relativeErrors[i]!).toFixed(1)} %`)
  })
  const { name: _, ...host } = fitted.host
  return { structure: name, physics: fitted.physics, host, paths, spread }
}

function residualsOf(
  start: Calibrated,
  vector: Float64Array,
  board: string,
  training: readonly SurrogateRow[],
  curves: readonly ClockPoint[],
): Float64Array {
  const { physics, host } = fromVector(start, vector)
  const prior = priorResiduals(vector)
  const simulate = simulateSteadyState(board, { physics, host })
  const anchors = anchorResiduals(board, physics)
  const out = new Float64Array(2 * training.length + curves.length + anchors.length + prior.length)
  out.set(anchors, 2 * training.length + curves.length)
  out.set(prior, out.length - prior.length)
  training.forEach((row, i) => {
    const { throughput, powerW } = simulate(row.configuration)
    out[2 * i] = Math.log(throughput / row.throughput) / THROUGHPUT_SCALE
    out[2 * i + 1] = Math.log(powerW / row.powerW) / POWER_SCALE
  })
  curves.forEach(({ row, smClockMhz, powerW }, i) => {
    const simulated = simulate({ ...row.configuration, smClockMhz }).powerW
    out[2 * training.length + i] = Math.log(simulated / powerW) / CLOCK_CURVE_SCALE
  })
  return out
}

/** Power along the clock at the swept configurations: the Python code's static curve and scaling law through the anchor value. */
function clockCurves(all: readonly SurrogateRow[]): ClockPoint[] {
  const points: ClockPoint[] = []
  for (const row of all) {
    const { tenants, memClockMhz } = row.configuration
    const [{ mpsPercent, batchSize }] = [tenants[0]!]
    const swept = (mpsPercent === 25 && tenants.length === 4) || (mpsPercent === 10 && tenants.length === 10)
    if (!swept || ![8, 16, 32].includes(batchSize)) continue
    const law = powerLaw(row, memClockMhz)
    const dynamic = row.powerW - law.staticW(law.referenceMhz)
    for (let clock = 360; clock < law.referenceMhz; clock += 150) {
      const x = (clock - law.lowestMhz) / (law.referenceMhz - law.lowestMhz)
      const powerW = law.staticW(clock) + law.baseW + (dynamic - law.baseW) * x ** law.exponent
      points.push({ row, smClockMhz: clock, powerW })
    }
  }
  return points
}

function powerLaw(row: SurrogateRow, memClockMhz: number) {
  const referenceName = row.network === 'mnasnet1_0' ? 'mnasnet' : row.network
  const set = row.board === 'A100' ? 'imagenet_a100_mem1215' : `imagenet_mem${memClockMhz}`
  const json = JSON.parse(readFileSync(path.join(folder, 'params', `${referenceName}.${set}.json`), 'utf8'))
  const { static: s, dynamic: d } = json.power
  return {
    staticW: (f: number) => s.delta_3 * f ** 3 + s.delta_2 * f ** 2 + s.delta_1 * f + s.delta_0,
    exponent: d.gamma_p as number,
    baseW: d.P_base as number,
    referenceMhz: row.board === 'A100' ? 1410 : 1950,
    lowestMhz: d.f_min as number,
  }
}

function report({ physics, host }: Calibrated, board: string, all: SurrogateRow[]): void {
  const simulate = simulateSteadyState(board, { physics, host })
  const curves = clockCurves(all)
  console.log('\n| board, memory | network | throughput median / p90 | power median / p90 | rank |')
  console.log('| --- | --- | --- | --- | --- |')
  for (const memClockMhz of new Set(all.map((row) => row.configuration.memClockMhz))) {
    const set = all.filter((row) => row.heldOut && row.configuration.memClockMhz === memClockMhz)
    for (const network of [...new Set(set.map((row) => row.network)), 'all']) {
      const selected = set.filter((row) => network === 'all' || row.network === network)
      const simulated = selected.map((row) => simulate(row.configuration))
      const errors = (of: (i: number) => number) => percentiles(selected.map((_, i) => 100 * Math.abs(of(i) - 1)))
      const throughput = errors((i) => simulated[i]!.throughput / selected[i]!.throughput)
      const power = errors((i) => simulated[i]!.powerW / selected[i]!.powerW)
      const rank =
        network === 'all'
          ? ''
          : rankCorrelation(
              selected.map((row, i) => ({ measured: row.throughput, simulated: simulated[i]!.throughput })),
            )!.toFixed(3)
      console.log(`| ${board} ${memClockMhz} | ${network} | ${throughput} | ${power} | ${rank} |`)
    }
    const along = curves.filter(({ row }) => row.configuration.memClockMhz === memClockMhz)
    const errors = along.map(
      ({ row, smClockMhz, powerW }) =>
        100 * Math.abs(simulate({ ...row.configuration, smClockMhz }).powerW / powerW - 1),
    )
    console.log(`| ${board} ${memClockMhz} | power along the clock | | ${percentiles(errors)} | |`)
  }
}

/** The error on all configurations of a network that the fit has not seen at all; nothing is written then. */
function reportLeftOut({ physics, host }: Calibrated, board: string, network: string, unseen: SurrogateRow[]): void {
  const simulate = simulateSteadyState(board, { physics, host })
  for (const memClockMhz of new Set(unseen.map((row) => row.configuration.memClockMhz))) {
    const set = unseen.filter((row) => row.configuration.memClockMhz === memClockMhz)
    const errors = (quantity: 'throughput' | 'powerW') =>
      percentiles(set.map((row) => 100 * Math.abs(simulate(row.configuration)[quantity] / row[quantity] - 1)))
    console.log(`| ${board} ${memClockMhz} | without ${network} | ${errors('throughput')} | ${errors('powerW')} |`)
  }
}

function percentiles(errors: number[]): string {
  const at = (share: number) => quantile(errors, share).toFixed(1)
  return `${at(0.5)} / ${at(0.9)} %`
}
