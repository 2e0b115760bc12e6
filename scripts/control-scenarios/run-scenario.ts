import { SimulatedGpu, SimulatedTenants, simulateSteadyState } from '@pctodl/gpu-sim'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import {
  type CapSchedule,
  type Configuration,
  capSchedule,
  findGpuSpec,
  type GpuSpec,
  InfeasibleCapError,
  smClocksAt,
  UnknownNameError,
  VirtualClock,
} from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { PctodlPolicy, type PowerCapPolicy, planClocks, planPartition, runPolicy } from '@pctodl/scheduler'
import { type ClockMechanism, clockMechanisms } from '@pctodl/thermo-dvfs'
import { DirectCapPolicy, FeedbackClock, LimitPolicy } from '../../packages/baselines/src/index.js'
import { misledGpu } from '../evaluation/misled-gpu.js'
import { withModelError } from '../evaluation/misled-predictor.js'
import { boardVariant } from './board-variant.js'
import { judgeCap } from './judge.js'
import { capsOf, FOREIGN, type Scenario } from './scenarios.js'
import { watchSettling } from './settling.js'
import { swappingTenants } from './swapping-tenants.js'

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
  readonly avoidablePercent: number
  readonly longestMs: number
  readonly peakPercent: number
  /** Throughput from 30 s after the start on, samples/s. */
  readonly throughput: number
  /** Longest time below 95 % of the cap although a higher clock was possible, ms; see `watchSettling`. */
  readonly settlingMs: number
  /**
   * Changes of the SM clock per minute, without the start and the time after each change of the cap. If the cap changes
   * so often that no other time is left, those of the whole run.
   */
  readonly clockChangesPerMinute: number
  readonly failure: string | null
}

const WINDOW_MS = 5000

/**
 * Runs a policy on a case.
 *
 * @param limitFactor share of the power limit to which the firmware regulates; null for the board's own value
 */
export async function runScenario(
  scenario: Scenario,
  policyName: ScenarioPolicy,
  limitFactor: number | null = null,
): Promise<ScenarioResult> {
  const { board, network, seed, faults, sensor, swap, durationMs } = scenario
  const spec = findGpuSpec(board)
  const { board: simulated, physics } = boardVariant(board, seed, { ...scenario, limitFactor })
  const own = FOREIGN[board] === undefined ? modelOf(board) : foreignPredictor(spec, modelOf(FOREIGN[board]))
  const predictor = withModelError(own, scenario.modelErrorPercent)
  const settle = simulateSteadyState(simulated, { physics, powerLimitW: spec.powerLimitW.max })
  const { caps, policy } = startable(scenario, policyName, predictor, settle)
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(simulated, { clock, seed, physics, faults: { faults, seed }, firmwareReads: 'sensor' })
  const pool = swap ? swappingTenants(gpu, clock, swap.networks, swap.periodMs) : new SimulatedTenants(gpu)
  const recorder = new RunRecorder(() => gpu.truth().energyJ)
  const settling = watchSettling(spec, faults, () => gpu.truth().energyJ)
  let failure: string | null = null
  try {
    await runPolicy({
      gpu: misledGpu(gpu, clock, sensor, seed),
      pool,
      clock,
      policy,
      caps,
      iterations: Math.round(durationMs / WINDOW_MS),
      windowMs: WINDOW_MS,
      onEvent: (event) => {
        recorder.add(event)
        settling.add(event)
      },
    })
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error)
  }
  const recording = recorder.recording()
  const { whole, steady } = evaluate(recording)
  const capW = caps[0]!.powerCapW
  const throughput = (steady.throughput ?? whole.throughput)!
  return {
    kind: scenario.kind,
    ...(scenario.disturbances === undefined ? {} : { disturbances: scenario.disturbances }),
    number: scenario.number,
    policy: policyName,
    board: scenario.variant === 0 ? board : `${board}~v${scenario.variant}`,
    network,
    capW,
    belowLimits: Math.min(...caps.map(({ powerCapW }) => powerCapW)) < spec.powerLimitW.min,
    ...judgeCap(recording),
    throughput,
    settlingMs: settling.longestMs(),
    clockChangesPerMinute: (steady.durationMs > 0 ? steady : whole).actuationsPerMinute['sm-clock'],
    failure,
  }
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
  plan: (powerCapW: number) => Configuration,
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
  return fixedClockPolicy(predictor.spec, plan, settle)
}

/** True power at the fixed clock, as a share of the cap. */
const FIXED_SHARE = 0.97

/**
 * Reference policy: the plan's tenants at a fixed clock, chosen with the board's true power so that it draws 97 % of
 * the cap.
 */
function fixedClockPolicy(spec: GpuSpec, plan: (powerCapW: number) => Configuration, settle: Settle): PowerCapPolicy {
  let planned: Configuration
  const clockFor = (powerCapW: number): number => {
    const clocks = smClocksAt(spec, planned.memClockMhz)!
    const within = (smClockMhz: number) => settle({ ...planned, smClockMhz }).powerW <= FIXED_SHARE * powerCapW
    return clocks.findLast((mhz) => mhz <= spec.boostClockMhz && within(mhz)) ?? clocks[0]!
  }
  return {
    name: 'fixed-clock',
    start(powerCapW) {
      planned = plan(powerCapW)
      return { ...planned, smClockMhz: clockFor(powerCapW) }
    },
    onCapChange: (powerCapW) => ({ smClockMhz: clockFor(powerCapW) }),
    onSample: () => undefined,
    onWindow: () => undefined,
  }
}

/** Uses the predictor of one board for another board that was not profiled, as an operator in a hurry might do. */
function foreignPredictor(spec: GpuSpec, predictor: Predictor): Predictor {
  const memClocksMhz = spec.performanceMemClocksMhz.slice(0, predictor.memClocksMhz.length)
  const theirs = (memClockMhz: number) => predictor.memClocksMhz[Math.max(0, memClocksMhz.indexOf(memClockMhz))]!
  const predict: Predictor['predict'] = (configuration) =>
    predictor.predict({ ...configuration, memClockMhz: theirs(configuration.memClockMhz) })
  return {
    spec,
    memClocksMhz,
    predict,
    solveSmClock: (tenants, memClockMhz, powerCapW) =>
      smClocksAt(spec, memClockMhz)!.findLast(
        (smClockMhz) => predict({ tenants, smClockMhz, memClockMhz }).powerW <= powerCapW,
      ),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  }
}

const models = new Map<string, Predictor>()
function modelOf(board: string): Predictor {
  const model = models.get(board) ?? loadPerfModel(board)
  models.set(board, model)
  return model
}
