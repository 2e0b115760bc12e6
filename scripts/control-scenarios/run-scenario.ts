import { findOracle, SimulatedGpu, SimulatedTenants, simulateSteadyState } from '@pctodl/gpu-sim'
import { quantile } from '@pctodl/numerics'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import {
  type CapSchedule,
  capSchedule,
  findGpuSpec,
  type GpuSpec,
  InfeasibleCapError,
  smClocksAt,
  type Tenant,
  UnknownNameError,
  VirtualClock,
} from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import {
  PctodlPolicy,
  type PowerCapPolicy,
  planClocks,
  planPartition,
  type RunEvent,
  runPolicy,
} from '@pctodl/scheduler'
import { type ClockMechanism, clockMechanisms } from '@pctodl/thermo-dvfs'
import { DirectCapPolicy, FeedbackClock, LimitPolicy } from '../../packages/baselines/src/index.js'
import { MisledGpu } from '../evaluation/misled-gpu.js'
import { withModelError } from '../evaluation/misled-predictor.js'
import { timed } from '../evaluation/timed-policy.js'
import { boardVariant } from './board-variant.js'
import { FixedClockPolicy } from './fixed-clock-policy.js'
import { foreignPredictor } from './foreign-predictor.js'
import { judgeCap } from './judge.js'
import { rateWithin, spansAfterReturns } from './returns.js'
import { capsOf, FOREIGN, type Scenario } from './scenarios.js'
import { SwappingTenants } from './swapping-tenants.js'

export const scenarioPolicies = ['pctodl', 'directcap', 'fixed-clock', 'plan-limit-step'] as const
/**
 * Name of a policy. `pctodl-<mechanism>` is pctodl without that mechanism, and `pctodl-shadow` is pctodl with the
 * shadow optimizer.
 */
export type ScenarioPolicy = (typeof scenarioPolicies)[number] | `pctodl-${ClockMechanism | 'shadow'}`

/** @throws UnknownNameError that lists the valid policies */
export function scenarioPolicy(name: string): ScenarioPolicy {
  const known = [
    ...scenarioPolicies,
    ...[...clockMechanisms, 'shadow' as const].map((part) => `pctodl-${part}` as const),
  ]
  const found = known.find((each) => each === name)
  if (found === undefined) throw new UnknownNameError('policy', name, known)
  return found
}

export interface ScenarioResult {
  readonly kind: string
  readonly disturbances?: readonly string[]
  readonly number: number
  readonly policy: ScenarioPolicy
  readonly board: string
  readonly network: string
  readonly capW: number
  /** Whether the lowest cap of the run is below the board's lowest power limit. */
  readonly belowLimits: boolean
  readonly stationary: boolean
  readonly abovePercent: number
  readonly avoidablePercent: number
  readonly longestMs: number
  readonly peakPercent: number
  /** Throughput from 30 s after the start on, samples/s. */
  readonly throughput: number
  /** Throughput divided by that of the best static configuration on this board; null if the case is not stationary. */
  readonly oracleRatio: number | null
  /**
   * Throughput from 5 s after each return of clients that hung, samples/s; null if no such time under a constant cap is
   * long enough.
   */
  readonly backThroughput: number | null
  /**
   * `backThroughput` divided by the throughput of the best static configuration on this board, and by that of the same
   * tenants at their best clock.
   */
  readonly backOverOracle: number | null
  readonly backOverClock: number | null
  /** Number of changes of the requested SM clock per minute. */
  readonly clockChangesPerMinute: number
  readonly stepP99Us: number
  readonly failure: string | null
}

export interface ScenarioOptions {
  /** Share of the power limit to which the firmware regulates; null for the board's own value. */
  readonly limitFactor: number | null
  readonly oracle: boolean
  /** Called with every event of the run, to inspect a case. */
  readonly onEvent?: (event: RunEvent) => void
}

const WINDOW_MS = 5000

export async function runScenario(
  scenario: Scenario,
  policyName: ScenarioPolicy,
  options: ScenarioOptions,
): Promise<ScenarioResult> {
  const { board, network, seed, faults, sensor, swap, durationMs } = scenario
  const spec = findGpuSpec(board)
  const { board: simulated, physics } = boardVariant(board, seed, { ...scenario, limitFactor: options.limitFactor })
  const own = FOREIGN[board] === undefined ? modelOf(board) : foreignPredictor(spec, modelOf(FOREIGN[board]))
  const predictor = withModelError(own, scenario.modelErrorPercent)
  const settle = simulateSteadyState(simulated, { physics, powerLimitW: spec.powerLimitW.max })
  const { caps, policy } = startable(scenario, policyName, predictor, settle)
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(simulated, { clock, seed, physics, faults: { faults, seed }, firmwareReads: 'sensor' })
  const pool = swap ? new SwappingTenants(gpu, clock, swap.networks, swap.periodMs) : new SimulatedTenants(gpu)
  const recorder = new RunRecorder(() => gpu.truth().energyJ)
  const counted: { timeMs: number; completed: number }[] = []
  let ran: { tenants?: readonly Tenant[]; memClockMhz?: number | 'unlocked' } = {}
  const stepUs: number[] = []
  let clockChanges = 0
  let failure: string | null = null
  try {
    await runPolicy({
      gpu: new MisledGpu(gpu, clock, sensor, seed),
      pool,
      clock,
      policy: timed(policy, stepUs),
      caps,
      iterations: Math.round(durationMs / WINDOW_MS),
      windowMs: WINDOW_MS,
      onEvent: (event) => {
        recorder.add(event)
        if (event.type === 'sample') counted.push({ timeMs: event.timeMs, completed: event.completed })
        if (event.type === 'action' && event.action.smClockMhz !== undefined) clockChanges++
        if (event.type === 'action') ran = { ...ran, ...event.action }
        options.onEvent?.(event)
      },
    })
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
  }
  const recording = recorder.recording()
  const { whole, steady } = evaluate(recording)
  const capW = caps[0]!.powerCapW
  const throughput = (steady.throughput ?? whole.throughput)!.value
  const back = caps.length === 1 ? rateWithin(spansAfterReturns(faults, durationMs), counted) : null
  const wanted = options.oracle && policyName === 'pctodl' && (scenario.stationary || back !== null)
  const oracle = wanted
    ? findOracle(simulated, network, capW, { physics, sharePercentStep: 10, starts: 20 }).throughput
    : null
  return {
    kind: scenario.kind,
    ...(scenario.disturbances === undefined ? {} : { disturbances: scenario.disturbances }),
    number: scenario.number,
    policy: policyName,
    board: scenario.variant === 0 ? board : `${board}~v${scenario.variant}`,
    network,
    capW,
    belowLimits: Math.min(...caps.map(({ powerCapW }) => powerCapW)) < spec.powerLimitW.min,
    stationary: scenario.stationary,
    ...judgeCap(recording),
    throughput,
    oracleRatio: oracle === null || !scenario.stationary ? null : throughput / oracle,
    backThroughput: back,
    backOverOracle: oracle === null || back === null ? null : back / oracle,
    backOverClock: back === null ? null : back / bestClock(ran, capW, spec, settle),
    clockChangesPerMinute: (60_000 * clockChanges) / durationMs,
    stepP99Us: stepUs.length > 0 ? quantile(stepUs, 0.99) : 0,
    failure,
  }
}

/** Throughput of the tenants that ran, at the highest clock whose true power is within the cap, samples/s. */
function bestClock(
  { tenants = [], memClockMhz = 0 }: { tenants?: readonly Tenant[]; memClockMhz?: number | 'unlocked' },
  capW: number,
  spec: GpuSpec,
  settle: Settle,
): number {
  const clockMhz = memClockMhz === 'unlocked' ? spec.performanceMemClocksMhz[0]! : memClockMhz
  const states = smClocksAt(spec, clockMhz)!.map((smClockMhz) => settle({ tenants, smClockMhz, memClockMhz: clockMhz }))
  return (states.findLast(({ powerW }) => powerW <= capW) ?? states[0]!).throughput
}

type Settle = ReturnType<typeof simulateSteadyState>

/**
 * Creates the policy and the caps of the case. The range of caps is raised until the planner finds the lowest cap
 * feasible. It is the same for all policies.
 */
function startable(scenario: Scenario, name: ScenarioPolicy, predictor: Predictor, settle: Settle) {
  const { spec, memClocksMhz } = predictor
  const { network: model } = scenario
  const memClockMhz = Math.min(...memClocksMhz)
  const [lowestMhz] = smClocksAt(spec, memClockMhz)!
  const least = settle({ tenants: [{ model, mpsPercent: 100, batchSize: 8 }], smClockMhz: lowestMhz!, memClockMhz })
  const most = settle({
    tenants: [0, 1].map(() => ({ model, mpsPercent: 50, batchSize: 32 })),
    smClockMhz: spec.boostClockMhz,
    memClockMhz: memClocksMhz[0]!,
  })
  const plan = (powerCapW: number) => planPartition(predictor, { model, powerCapW })
  const highestW = Math.min(spec.powerLimitW.default, 1.05 * most.powerW)
  let lowestW = 1.25 * least.powerW
  for (let attempt = 0; ; attempt++) {
    const caps: CapSchedule = capSchedule(
      capsOf(scenario, Math.min(lowestW, highestW), highestW).filter(({ atMs }) => atMs < scenario.durationMs),
    )
    try {
      // A plan for the lowest cap shows that all caps are feasible.
      plan(Math.min(...caps.map(({ powerCapW }) => powerCapW)))
      return { caps, policy: policyFor(name, scenario, predictor, settle, plan) }
    } catch (error) {
      if (!(error instanceof InfeasibleCapError) || attempt > 3) throw error
      lowestW = Math.max(lowestW * 1.05, 1.05 * error.lowestFeasibleW)
    }
  }
}

function policyFor(
  name: ScenarioPolicy,
  { network: model }: Scenario,
  predictor: Predictor,
  settle: Settle,
  plan: (powerCapW: number) => ReturnType<typeof planPartition>,
): PowerCapPolicy {
  if (name === 'pctodl') return new PctodlPolicy({ predictor, model })
  if (name.startsWith('pctodl-')) {
    const without = clockMechanisms.filter((mechanism) => name === `pctodl-${mechanism}`)
    return new PctodlPolicy({ predictor, model, without, ...(name === 'pctodl-shadow' ? { shadow: {} } : {}) })
  }
  if (name === 'directcap') return new DirectCapPolicy({ spec: predictor.spec, model, plan })
  if (name === 'plan-limit-step') {
    return new LimitPolicy({
      name,
      spec: predictor.spec,
      plan,
      planClocks: (tenants, powerCapW, memClocksMhz) => planClocks(predictor, tenants, powerCapW, memClocksMhz),
      clock: new FeedbackClock({ step: true }),
    })
  }
  return new FixedClockPolicy(predictor.spec, plan, (configuration) => settle(configuration).powerW)
}

const models = new Map<string, Predictor>()
function modelOf(board: string): Predictor {
  const model = models.get(board) ?? loadPerfModel(board)
  models.set(board, model)
  return model
}
