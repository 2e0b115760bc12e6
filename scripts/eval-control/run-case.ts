import { findOracle, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { quantile } from '@pctodl/numerics'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import { capAt, networkName, VirtualClock } from '@pctodl/platform'
import { type CapStepResponse, evaluate, RunRecorder } from '@pctodl/report/evaluate'
import {
  PctodlPolicy,
  type PowerCapPolicy,
  PublishedPolicy,
  planClocks,
  planPartition,
  runPolicy,
} from '@pctodl/scheduler'
import { FeedbackClock, LimitPolicy } from '../../packages/baselines/src/index.js'
import { type AlgorithmName, createPolicy } from '../../packages/bench-runner/src/algorithms.js'
import { type BenchTask, capsOf } from '../../packages/bench-runner/src/tasks.js'
import { MisledGpu } from '../evaluation/misled-gpu.js'
import { withModelError } from '../evaluation/misled-predictor.js'
import { timed } from '../evaluation/timed-policy.js'
import type { Disturbance } from './disturbances.js'

export type CaseAlgorithm = AlgorithmName | 'reference' | 'static-best'

export const WINDOW_MS = 5000
/** Iterations of tasks with a fixed cap: three minutes. */
export const ITERATIONS = 36

/** The figures of one run that gates and tables need. */
export interface CaseResult {
  readonly board: string
  readonly taskId: number
  readonly scheduled: boolean
  readonly algorithm: CaseAlgorithm
  readonly disturbance: string
  readonly seed: number
  readonly violationPercent: number
  readonly violationTenSecondsPercent: number
  readonly excessEnergyPercent: number
  readonly peakExcessPercent: number
  readonly longestExcessMs: number
  readonly capUtilisationPercent: number
  readonly oracleRatioSteady: number
  readonly oracleRatioWhole: number
  readonly throughput: number
  readonly compliantThroughput: number
  readonly violationWholePercent: number
  readonly longestExcessWholeMs: number
  readonly peakExcessWholePercent: number
  readonly actuationsPerMinute: number
  readonly energyPerSampleJ: number
  readonly settlingMs: readonly (number | null)[]
  readonly settlingBinds: readonly boolean[]
  readonly stepDownExcessJ: number | null
  readonly repartitions: number
  readonly stepP99Us: number
}

export class TaskRunner {
  readonly #task: BenchTask
  readonly #oracles = new Map<number, ReturnType<typeof findOracle>>()

  constructor(task: BenchTask) {
    this.#task = task
  }

  oracle(powerCapW: number): ReturnType<typeof findOracle> {
    const known = this.#oracles.get(powerCapW)
    if (known) return known
    const found = findOracle(this.#task.board, networkName(this.#task.model), powerCapW)
    this.#oracles.set(powerCapW, found)
    return found
  }

  async run(algorithm: CaseAlgorithm, disturbance: Disturbance, seed: number): Promise<CaseResult> {
    const task = this.#task
    const clock = new VirtualClock()
    const board = new SimulatedGpu(task.board, {
      clock,
      seed,
      ...(disturbance.faults ? { faults: disturbance.faults } : {}),
    })
    const recorder = new RunRecorder(() => board.truth().meteredEnergyJ)
    const stepUs: number[] = []
    const policy = timed(this.#policy(algorithm, disturbance), stepUs)
    const caps = capsOf(task, WINDOW_MS)
    await runPolicy({
      gpu: new MisledGpu(board, clock, disturbance.sensor ?? {}, seed),
      pool: new SimulatedTenants(board),
      clock,
      policy,
      caps,
      iterations: task.fixedIterations ?? ITERATIONS,
      windowMs: WINDOW_MS,
      onEvent: (event) => recorder.add(event),
    })
    const recording = recorder.recording()
    const { steady, whole, steps, reconfigurations } = evaluate(recording, {
      oracleThroughput: (capW) => this.oracle(capW).throughput,
    })
    const down = steps.filter(({ fromW, toW }) => toW < fromW)
    return {
      board: task.board,
      taskId: task.id,
      scheduled: task.schedule !== null,
      algorithm,
      disturbance: disturbance.name,
      seed,
      violationPercent: steady.violationPercent!.value,
      violationTenSecondsPercent: steady.violationTenSecondsPercent!,
      excessEnergyPercent: steady.excessEnergyPercent!.value,
      peakExcessPercent: steady.peakExcessPercent!,
      longestExcessMs: steady.longestExcessMs,
      capUtilisationPercent: steady.capUtilisationPercent!.value,
      oracleRatioSteady: steady.oracleRatio!,
      oracleRatioWhole: whole.oracleRatio!,
      throughput: whole.throughput!.value,
      compliantThroughput: whole.compliantThroughput!.value,
      violationWholePercent: whole.violationPercent!.value,
      longestExcessWholeMs: whole.longestExcessMs,
      peakExcessWholePercent: whole.peakExcessPercent!,
      actuationsPerMinute: Object.values(steady.actuationsPerMinute).reduce((sum, rate) => sum + rate, 0),
      energyPerSampleJ: whole.energyPerSampleJ ?? Number.NaN,
      settlingMs: steps.map((step) => settlingMs(step, disturbance)),
      settlingBinds: steps.map(({ toW }) => this.#binds(toW)),
      stepDownExcessJ: down.length > 0 ? down.reduce((sum, { excessEnergyJ }) => sum + excessEnergyJ, 0) : null,
      repartitions: reconfigurations.length,
      stepP99Us: stepUs.length > 0 ? quantile(stepUs, 0.99) : 0,
    }
  }

  /** Whether the best configuration under a cap draws it: only then can power settle at it. */
  #binds(powerCapW: number): boolean {
    return this.oracle(powerCapW).powerW > 0.95 * powerCapW
  }

  #policy(algorithm: CaseAlgorithm, { modelErrorPercent = 0 }: Disturbance): PowerCapPolicy {
    const task = this.#task
    const model = networkName(task.model)
    const predictor: Predictor = withModelError(loadedModel(task.board), modelErrorPercent)
    switch (algorithm) {
      case 'pctodl':
        return new PctodlPolicy({ predictor, model })
      case 'reference':
        return new PublishedPolicy({ predictor, model })
      case 'static-best':
        return new LimitPolicy({
          name: algorithm,
          spec: predictor.spec,
          plan: (powerCapW) => planPartition(predictor, { model, powerCapW }),
          planClocks: (tenants, powerCapW) => planClocks(predictor, tenants, powerCapW),
          clock: new FeedbackClock({ underLimit: 'planned' }),
        })
      default:
        return createPolicy(algorithm, task)
    }
  }

  /** Every cap of the task, W. */
  get capsW(): readonly number[] {
    const caps = capsOf(this.#task, WINDOW_MS)
    return [...new Set(caps.map(({ atMs }) => capAt(caps, atMs)))]
  }
}

/** From the cap step, or from when the board grants setters again. */
function settlingMs({ atMs, settlingMs }: CapStepResponse, { refusedUntilMs = 0 }: Disturbance): number | null {
  return settlingMs === null ? null : Math.max(0, Math.min(settlingMs, atMs + settlingMs - refusedUntilMs))
}

const models = new Map<string, Predictor>()
function loadedModel(board: string): Predictor {
  const model = models.get(board) ?? loadPerfModel(board)
  models.set(board, model)
  return model
}
