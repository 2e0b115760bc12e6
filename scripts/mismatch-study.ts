/**
 * What becomes of predictions and plans where the board is another one than the predictor was made for: for each structural variant
 * of a board the error of the shipped predictor and of one fitted to traces of the variant, and the throughput of their plans over
 * that of the best configuration found in the variant's truth. Prints Markdown.
 *
 *   pnpm mismatch-study [board ...] [--variants 5] [--rows 120] [--seed 1]
 */
import { parseArgs } from 'node:util'
import { boardVariants, calibratedBoards, findOracle, type SimulatedBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { quantile, SeededRandom, seedFrom } from '@pctodl/numerics'
import { fitPerfModel, loadPerfModel, PerfModel, type Predictor } from '@pctodl/perf-model'
import {
  type Configuration,
  findGpuSpec,
  type GpuSpec,
  type NetworkName,
  smClocksAt,
  type Tenant,
} from '@pctodl/platform'
import { planPartition } from '@pctodl/scheduler'
import { rowOf, type Truth } from './evaluation/measured-rows.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    variants: { type: 'string', default: '5' },
    rows: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
  },
})
const networks: readonly NetworkName[] = ['resnet50', 'maxvit_t']
/** Caps as shares of the default limit. */
const capShares = [0.5, 0.75]
const ORACLE = { sharePercentStep: 20, batchSizes: [4, 8, 16, 32, 64, 128], starts: 10 }
const CHECKED = 150

/** Tenants of one network or of several, at unlike shares and batches, at any clock. */
function randomConfiguration(spec: GpuSpec, random: SeededRandom, models: readonly string[]): Configuration {
  const draw = <T>(each: readonly T[]): T => each[random.integer(each.length)]!
  const memClockMhz = draw(spec.performanceMemClocksMhz)
  const shares = draw([
    [100],
    [50],
    [60, 40],
    [30, 30, 40],
    [25, 25, 25, 25],
    [10, 20, 30],
    [20, 20, 20, 20, 20],
    [5, 45],
  ])
  const tenants: Tenant[] = shares.map((mpsPercent) => {
    return { model: draw(models), mpsPercent, batchSize: draw([2, 4, 8, 16, 32, 48, 64, 96, 128]) }
  })
  const clocks = smClocksAt(spec, memClockMhz)!.filter(
    (mhz) => mhz <= spec.boostClockMhz && mhz >= 0.25 * spec.boostClockMhz,
  )
  return { tenants, smClockMhz: draw(clocks), memClockMhz }
}

function refitted(spec: GpuSpec, truth: Truth, seed: number): Predictor {
  const random = new SeededRandom(seed)
  const groups = [...networks.map((network) => [network]), networks]
  const rows = groups.flatMap((models) =>
    Array.from({ length: Number(values.rows) }, () => rowOf(truth, randomConfiguration(spec, random, models))),
  )
  return PerfModel.load(fitPerfModel(rows, spec, { source: 'a structural variant of a simulated board' }).parameters)
}

interface Judged {
  readonly throughputPercent: number
  readonly powerPercent: number
  /** Throughput of the plans over the oracle's, at the best clock under the cap. */
  readonly plans: readonly number[]
  /** True power of a plan at its own clock over the cap, percent. */
  readonly overCapPercent: readonly number[]
}

function judge(board: SimulatedBoard, spec: GpuSpec, predictor: Predictor, truth: Truth, seed: number): Judged {
  const random = new SeededRandom(seed)
  const errors = { throughput: [] as number[], power: [] as number[] }
  for (let i = 0; i < CHECKED; i++) {
    const configuration = randomConfiguration(spec, random, networks)
    const [said, is] = [predictor.predict(configuration), truth(configuration)]
    errors.throughput.push(100 * Math.abs(said.throughput / is.throughput - 1))
    errors.power.push(100 * Math.abs(said.powerW / is.powerW - 1))
  }
  const plans: number[] = []
  const overCapPercent: number[] = []
  for (const model of networks) {
    for (const share of capShares) {
      const powerCapW = Math.round(share * spec.powerLimitW.default)
      const oracle = oracleOf(board, model, powerCapW)
      const plan = planPartition(predictor, { model, powerCapW })
      const throughput = smClocksAt(spec, plan.memClockMhz)!
        .map((smClockMhz) => truth({ ...plan, smClockMhz }))
        .filter(({ powerW }) => powerW <= powerCapW)
        .reduce((best, state) => Math.max(best, state.throughput), 0)
      plans.push(throughput / oracle)
      overCapPercent.push(100 * (truth(plan).powerW / powerCapW - 1))
    }
  }
  return {
    throughputPercent: quantile(errors.throughput, 0.5),
    powerPercent: quantile(errors.power, 0.5),
    plans,
    overCapPercent,
  }
}

const oracles = new Map<string, number>()
function oracleOf(board: SimulatedBoard, model: string, powerCapW: number): number {
  const name = typeof board === 'string' ? board : board.name
  const key = `${name} ${model} ${powerCapW}`
  const known = oracles.get(key) ?? findOracle(board, model, powerCapW, ORACLE).throughput
  oracles.set(key, known)
  return known
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`
console.log(
  '| board | predictor | throughput error | power error | plan over oracle, median / worst | own clock over cap, median / worst |',
)
console.log('| --- | --- | --- | --- | --- | --- |')
for (const board of positionals.length > 0 ? positionals : calibratedBoards) {
  const spec = findGpuSpec(board)
  const shipped = loadPerfModel(board)
  const boards = [{ board: spec.key as SimulatedBoard, words: 'the board itself' }].concat(
    boardVariants(board, { count: Number(values.variants), seed: Number(values.seed) }).map((variant) => {
      const { contention, saturation } = variant.physics.work
      const words = `${contention}, ${saturation}, ${variant.physics.power.voltageCurve}, overlap ${variant.host.overlap}`
      return { board: variant, words: `${variant.name}: ${words}` }
    }),
  )
  for (const { board: judged, words } of boards) {
    const truth = simulateSteadyState(judged, { powerLimitW: 1e9 })
    const seed = seedFrom('mismatch', spec.key, Number(values.seed))
    for (const [name, predictor] of [
      ['shipped', shipped],
      ['refitted', refitted(spec, truth, seed)],
    ] as const) {
      const { throughputPercent, powerPercent, plans, overCapPercent } = judge(judged, spec, predictor, truth, seed + 1)
      const cells = [
        `${spec.key}, ${words}`,
        name,
        `${throughputPercent.toFixed(1)} %`,
        `${powerPercent.toFixed(1)} %`,
        `${percent(quantile(plans, 0.5))} / ${percent(Math.min(...plans))}`,
        `${quantile(overCapPercent, 0.5).toFixed(1)} / ${Math.max(...overCapPercent).toFixed(1)} %`,
      ]
      console.log(`| ${cells.join(' | ')} |`)
    }
  }
}
