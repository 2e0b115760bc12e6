import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, smClocksAt, type Tenant } from '@pctodl/platform'
import { type ClockAction, ClockController, MemoryClockControl } from '@pctodl/thermo-dvfs'
import { planPartition } from '../plan-partition.js'
import type {
  Action,
  AppliedState,
  Decision,
  PowerCapPolicy,
  SampleObservation,
  TenantFailure,
  WindowObservation,
} from '../policy.js'
import type { Candidate } from '../shadow/candidates.js'
import { type ShadowContext, ShadowOptimizer, type ShadowOptions } from '../shadow/shadow-optimizer.js'
import { LoadShedding } from './load-shedding.js'
import { Replanning } from './replanning.js'
import { ranOutOfMemory, TenantRevival } from './tenant-revival.js'

export interface PctodlPolicyOptions {
  readonly predictor: Predictor
  /** The network that all tenants serve. */
  readonly model: string
  /** Watts to plan below the cap; the controller still holds the cap itself. Default 0. */
  readonly powerMarginW?: number
  /**
   * Gain error of the power sensor to allow for, percent: a cap is meant in true watts, and no controller can see what its
   * sensor gets wrong. Default 2, about two standard deviations of good boards; 0 holds the cap in the sensor's watts.
   */
  readonly sensorTolerancePercent?: number
  /**
   * The board's own power limit is set this far above the cap, percent, as a back-stop for what no controller can foresee
   * (clamped to the board's range); null leaves it alone. Default 10.
   */
  readonly backstopPercent?: number | null
  /** Change tenants only if the samples lost in restarts are regained within this time, s. Default 60. */
  readonly payBackS?: number
  /** After a cap change the clocks move at once, the tenants not before this, s. Default 35. */
  readonly sharesAfterS?: number
  /** Keep looking for better tenants while running; false leaves the plan as it is. Default: the defaults of `ShadowOptions`. */
  readonly shadow?: ShadowOptions | false
  /** Start with this instead of a plan; later cap changes move the clocks only. */
  readonly fixed?: Candidate
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
}

/** Time in which a restarted tenant completes nothing, before one was measured: process start and model load, s. */
const RESTART_S = 4
/** Most configurations that a plan made while running may evaluate: some tens of milliseconds. */
const REPLAN_EVALUATIONS = 1000
/** A clock that the board does not run is asked for again this often, ms. */
const RELOCK_MS = 2000

/**
 * PctoDL: find shares, batch sizes and clocks with the predictor, then hold the cap with the SM clock, ten times a second.
 * Everything slow comes second: after a cap change the clock follows at once and the tenants only where that pays, and the
 * shadow optimizer looks for better tenants between samples.
 */
export class PctodlPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: PctodlPolicyOptions
  readonly #shadow: ShadowOptimizer | undefined
  readonly #revival = new TenantRevival()
  readonly #replanning: Replanning
  readonly #shedding: LoadShedding
  readonly #decisions: Decision[] = []
  #controller: ClockController | undefined
  #memory: MemoryClockControl | undefined
  #tenants: readonly Tenant[] = []
  #memClockMhz = 0
  #memoryBytes: number
  #powerCapW = 0
  #lastStep: ClockAction | undefined
  #timeMs = 0
  #restartS = RESTART_S
  #loadingSinceMs: number | undefined
  #dead = 0
  #relockedMs = 0

  constructor(options: PctodlPolicyOptions) {
    this.#options = options
    this.#memoryBytes = options.partition?.memoryBytes ?? options.predictor.spec.memoryBytes
    const { payBackS = 60, sharesAfterS = 35, partition, predictor } = options
    const plan = (modelledCapW: number) => this.#tryPlan(modelledCapW)
    this.#replanning = new Replanning({ predictor, payBackS, sharesAfterS, plan })
    this.#shedding = new LoadShedding(predictor)
    if (options.shadow !== false) {
      const sharePercentStep = partition?.sharePercentStep ?? 5
      this.#shadow = new ShadowOptimizer(options.predictor, { payBackS, sharePercentStep, ...options.shadow })
    }
  }

  /** What the controller last said, for logs and reports. */
  get lastStep(): ClockAction | undefined {
    return this.#lastStep
  }

  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const { fixed, predictor } = this.#options
    const plan = fixed ?? this.#plan(powerCapW)
    const smClockMhz = predictor.solveSmClock(plan.tenants, plan.memClockMhz, powerCapW)
    const lowestMhz = smClocksAt(predictor.spec, plan.memClockMhz)![0]!
    return {
      ...this.#adopt(plan),
      smClockMhz: smClockMhz ?? lowestMhz,
      ...this.#backstop(powerCapW),
      reason: fixed ? 'the configuration given' : `plan for ${powerCapW} W, board limit as back-stop`,
    }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    this.#shadow?.capChanged()
    this.#replanning.capChanged(this.#timeMs)
    return { ...this.#backstop(powerCapW), reason: `new cap ${powerCapW} W: clocks first, tenants later` }
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, telemetry, powerCapW, reconfiguring, applied } = sample
    this.#timeMs = timeMs
    this.#watchLoading(timeMs, reconfiguring)
    if (sample.failures.length !== this.#dead) this.#tenantsDied(sample.failures)
    const before = this.#lastStep
    const step = this.#controller!.step({
      timeMs,
      powerCapW,
      powerAverageW: telemetry.powerAverageW,
      powerInstantW: telemetry.powerInstantW,
      smClockMhz: telemetry.smClockMhz,
      loading: reconfiguring,
      refused: sample.smClockRefusedMs > 0,
    })
    this.#lastStep = step
    if (step.status !== before?.status) {
      this.#decide('clock-status', statusReasons[step.status], { status: step.status, smClockMhz: step.smClockMhz })
    }
    const shedding = this.#shedLoad(sample) ?? this.#backFromTrial(sample) ?? this.#revive(sample)
    return { ...this.#clock(step, applied, sample), ...this.#memoryClock(sample, step), ...shedding }
  }

  onWindow(window: WindowObservation): Action | undefined {
    const { tenants, powerCapW, reconfigured } = window
    if (!reconfigured && tenants.some(({ failure }) => failure !== null && ranOutOfMemory(failure))) {
      const before = this.#shadow?.tenantFailed()
      if (before) return this.#adoptBecause(before, 'the last change ran out of memory')
      return this.#planForLessMemory(powerCapW)
    }
    if (this.#shedding.active) return undefined
    const before = this.#shadow?.observe(window, this.#targetW)
    return before && this.#adoptBecause(before, 'the last change did not pay: back to the one before')
  }

  onIdle(timeMs: number, applied: AppliedState): Action | undefined {
    if (this.#shedding.active || this.#dead > 0 || this.#loadingSinceMs !== undefined) return undefined
    if (!this.#options.fixed && applied.tenants === this.#tenants) {
      const replan = this.#reconsider(timeMs)
      if (replan || this.#replanning.pending) return replan
    }
    const suggestion = this.#shadow?.idle(() => this.#shadowContext())
    return suggestion && this.#adoptBecause(suggestion, 'the shadow optimizer tries a neighbour')
  }

  takeDecisions(): readonly Decision[] {
    const ofShadow = this.#shadow?.takeDecisions() ?? []
    return [...this.#decisions.splice(0), ...this.#replanning.takeDecisions(), ...ofShadow]
  }

  #clock({ smClockMhz, clockMismatch }: ClockAction, applied: AppliedState, sample: SampleObservation): Action {
    const { timeMs, smClockRefusedMs, reconfiguring } = sample
    const lost = clockMismatch && smClockRefusedMs === 0 && !reconfiguring
    if (lost && timeMs - this.#relockedMs >= RELOCK_MS) {
      this.#relockedMs = timeMs
      return { smClockMhz, again: true, reason: 'the board does not run the clock that was locked: asked for again' }
    }
    // While the board refuses, the newest wish is repeated, so that no old one is granted later.
    if (smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    const { biasW, targetPowerW, estimatedPowerW } = this.#lastStep!
    const reason =
      `estimated ${estimatedPowerW.toFixed(1)} W (model ${biasW < 0 ? '-' : '+'} ${Math.abs(biasW).toFixed(1)} W) ` +
      `for a target of ${targetPowerW.toFixed(1)} W`
    return { smClockMhz, reason }
  }

  #memoryClock({ timeMs, powerCapW }: SampleObservation, { status }: ClockAction): Action {
    const { predictor } = this.#options
    const memClockMhz = this.#memory!.step({
      timeMs,
      powerCapW,
      infeasible: status === 'infeasible',
      lowestPowerW: (clockMhz) => {
        const smClockMhz = smClocksAt(predictor.spec, clockMhz)![0]!
        const { powerW } = predictor.predict({ tenants: this.#tenants, smClockMhz, memClockMhz: clockMhz })
        return powerW * this.#powerRatio
      },
    })
    if (memClockMhz === this.#memClockMhz) return {}
    const lower = memClockMhz < this.#memClockMhz
    this.#setPlant(this.#tenants, memClockMhz)
    return {
      memClockMhz,
      reason: lower ? 'the lowest SM clock does not keep the cap' : 'room for the memory clock again',
    }
  }

  #shedLoad(sample: SampleObservation): Action | undefined {
    const change = this.#shedding.step(sample, this.#tenants, this.#memClockMhz)
    if (change) this.#setPlant(change.tenants, this.#memClockMhz)
    return change
  }

  /** A tenant failed in a trial, most likely of it: the configuration before is back at once. */
  #backFromTrial({ failures }: SampleObservation): Action | undefined {
    const before = failures.length > 0 ? this.#shadow?.tenantFailed() : undefined
    return before && this.#adoptBecause(before, 'a tenant failed in a trial: back to the configuration before')
  }

  #revive({ timeMs, failures, reconfiguring }: SampleObservation): Action | undefined {
    if (reconfiguring || this.#shedding.active || failures.length === 0 || !this.#revival.due(timeMs, failures))
      return undefined
    this.#setPlant(this.#tenants, this.#memClockMhz)
    return { tenants: this.#tenants, reason: `dead tenants are started again, attempt ${this.#revival.attempts}` }
  }

  /** The model follows the tenants that are left, so that what is learnt meanwhile is not learnt wrong. */
  #tenantsDied(failures: readonly TenantFailure[]): void {
    this.#dead = failures.length
    const left = [...this.#tenants]
    for (const { tenant } of failures) {
      const index = left.findIndex((other) => other.mpsPercent === tenant.mpsPercent && other.model === tenant.model)
      if (index >= 0) left.splice(index, 1)
    }
    if (failures.length > 0) {
      this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
      if (left.length > 0) this.#setModel(left, this.#memClockMhz)
    } else this.#setModel(this.#tenants, this.#memClockMhz)
  }

  #watchLoading(timeMs: number, reconfiguring: boolean): void {
    if (reconfiguring) this.#loadingSinceMs ??= timeMs
    else if (this.#loadingSinceMs !== undefined) {
      // What a restart takes on this machine decides what it must bring.
      this.#restartS = (timeMs - this.#loadingSinceMs) / 1000
      this.#loadingSinceMs = undefined
    }
  }

  /** What the predictor's watts are to be multiplied by here, as measured. */
  get #powerRatio(): number {
    if (!this.#lastStep) return 1
    const { estimatedPowerW, biasW } = this.#lastStep
    return estimatedPowerW / (estimatedPowerW - biasW)
  }

  #reconsider(timeMs: number): Action | undefined {
    const context = this.#shadowContext()
    const measured = this.#shadow?.throughput
    const present = this.#present
    const replan = this.#replanning.step({
      timeMs,
      present,
      powerCapW: this.#powerCapW,
      powerRatio: this.#powerRatio,
      settled: this.#lastStep?.status === 'settled',
      infeasible: this.#lastStep?.status === 'infeasible',
      restartS: this.#restartS,
      expected: (candidate) =>
        context && measured !== undefined ? this.#shadow?.judge(candidate, context, measured)?.throughput : undefined,
    })
    if (!replan) return undefined
    if (replan.forThroughput) this.#shadow?.beginTrial(present, replan.plan)
    return this.#adoptBecause(replan.plan, replan.reason)
  }

  #shadowContext(): ShadowContext | undefined {
    if (this.#lastStep?.status !== 'settled') return undefined
    return {
      present: this.#present,
      targetW: this.#lastStep.targetPowerW,
      memoryBytes: this.#memoryBytes,
      restartS: this.#restartS,
    }
  }

  /** Power that the clock may be raised to, W. */
  get #targetW(): number {
    return this.#lastStep?.targetPowerW ?? this.#powerCapW
  }

  get #present(): Candidate {
    return { tenants: this.#tenants, memClockMhz: this.#memClockMhz }
  }

  /** The board has less memory than the model thinks: plan again for a tenth less. */
  #planForLessMemory(powerCapW: number): Action {
    this.#memoryBytes *= 0.9
    return this.#adoptBecause(this.#plan(powerCapW), 'tenants ran out of memory: a plan for a tenth less')
  }

  #tryPlan(modelledCapW: number): Configuration | undefined {
    try {
      return this.#plan(modelledCapW, REPLAN_EVALUATIONS)
    } catch (error) {
      // A running service is not ended by a cap that nothing keeps: the clocks go to the bottom, and the status says so.
      if (!(error instanceof InfeasibleCapError)) throw error
      const lowestFeasibleW = error.lowestFeasibleW * this.#powerRatio
      const reason = `no tenants keep ${this.#powerCapW} W; the lowest cap that some do is ${lowestFeasibleW.toFixed(0)} W`
      this.#decide('plan-infeasible', reason, { lowestFeasibleW })
      return undefined
    }
  }

  #plan(powerCapW: number, mostEvaluations?: number): Configuration {
    const { predictor, model, powerMarginW = 0, sensorTolerancePercent = 2, partition: options } = this.#options
    const most = options?.budgetEvaluations ?? 4000
    const budgetEvaluations = Math.min(most, mostEvaluations ?? most)
    const common = { ...options, model, powerCapW, memoryBytes: this.#memoryBytes, budgetEvaluations }
    // What the controller keeps free for the sensor's error, a plan cannot use.
    const toleranceW = (sensorTolerancePercent / 100) * powerCapW
    try {
      return planPartition(predictor, { ...common, powerMarginW: powerMarginW + toleranceW })
    } catch (error) {
      if (!(error instanceof InfeasibleCapError)) throw error
      // So near the lowest power there is, a plan without that room is better than none.
      return planPartition(predictor, { ...common, powerMarginW })
    }
  }

  #adoptBecause(candidate: Candidate, reason: string): Action {
    return { ...this.#adopt(candidate), reason }
  }

  #adopt({ tenants, memClockMhz }: Candidate): Action {
    this.#setPlant(tenants, memClockMhz)
    this.#memory ??= new MemoryClockControl({ memClocksMhz: this.#options.predictor.memClocksMhz }, memClockMhz)
    this.#memory.setHome(memClockMhz)
    return { tenants, memClockMhz }
  }

  #setPlant(tenants: readonly Tenant[], memClockMhz: number): void {
    this.#tenants = tenants
    this.#setModel(tenants, memClockMhz)
    this.#memClockMhz = memClockMhz
  }

  #setModel(tenants: readonly Tenant[], memClockMhz: number): void {
    const { predictor, sensorTolerancePercent = 2 } = this.#options
    const { spec } = predictor
    const smClocksMhz = smClocksAt(spec, memClockMhz)!
    const known = this.#memClockMhz === 0 ? undefined : smClocksAt(spec, this.#memClockMhz)
    if (!this.#controller || !sameClocks(known, smClocksMhz)) {
      this.#controller = new ClockController({ smClocksMhz, reading: spec.powerReading, sensorTolerancePercent })
    }
    this.#controller.setPlant(
      smClocksMhz.map((smClockMhz) => predictor.predict({ tenants, smClockMhz, memClockMhz }).powerW),
    )
  }

  #backstop(powerCapW: number): Action {
    const { backstopPercent = 10 } = this.#options
    if (backstopPercent === null) return {}
    const { min, default: top } = this.#options.predictor.spec.powerLimitW
    const powerLimitW = Math.round(Math.min(top, Math.max(min, powerCapW * (1 + backstopPercent / 100))))
    return { powerLimitW, powerLimitRole: 'back-stop' }
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}

const statusReasons: Readonly<Record<ClockAction['status'], string>> = {
  tracking: 'moving, or not yet sure',
  settled: 'the highest clock that keeps the cap, unchanged for three seconds',
  infeasible: 'at the lowest clock and still above the cap',
  blind: 'no usable reading, or sensors that contradict each other',
}

function sameClocks(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a !== undefined && a.length === b.length && a.every((clock, i) => clock === b[i])
}
