import type { NetworkDemand, PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, PctodlError, smClocksAt, type Tenant } from '@pctodl/platform'
import type { ClockAction } from '@pctodl/thermo-dvfs'
import { planPartition, type ServedNetworks, servedNetworks } from '../plan-partition.js'
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
import { backStop } from './back-stop.js'
import { BoardWatch } from './board-watch.js'
import { CapTrouble } from './cap-trouble.js'
import { LatencyWatch } from './latency-watch.js'
import { LoadShedding } from './load-shedding.js'
import { Replanning } from './replanning.js'
import { SteeredTenants } from './steered-tenants.js'
import { ranOutOfMemory, TenantRevival } from './tenant-revival.js'

export interface PctodlPolicyOptions extends ServedNetworks {
  readonly predictor: Predictor
  /** Watts to plan below the cap; the controller still holds the cap itself. Default 0. */
  readonly powerMarginW?: number
  /**
   * The board's own power limit is set this far above the cap, percent, clamped to the board's range: its firmware is the fast
   * inner loop that no burst outruns, and between two clocks it holds a mean that no locked one has. Default 0: at the cap, with the
   * clock locked to the lowest state that would exceed it. null leaves the limit alone: the clock is the only hold.
   */
  readonly backstopPercent?: number | null
  /**
   * Change tenants only if the samples lost in restarts are regained within this time, s. Default 300 for a plan, which waits until
   * the cap has lasted as long as that takes, and 60 for a trial of the shadow optimizer.
   */
  readonly payBackS?: number
  /**
   * After a cap change the clocks move at once, and the tenants as soon as caps last long enough for that to pay; small gains are
   * judged by measurement, after this time, s. Default 35.
   */
  readonly sharesAfterS?: number
  /** Keep looking for better tenants while running; false leaves the plan as it is. Default: the defaults of `ShadowOptions`. */
  readonly shadow?: ShadowOptions | false
  /** Start with this instead of a plan; later cap changes move the clocks only. */
  readonly fixed?: Candidate
  /** Also where a latency objective is given: plans keep it, and where a window shows that they do not, another one is made. */
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
}

/** Longest time in which a plan must have regained what its restarts cost, s. */
const PAY_BACK_S = 300
/** Time in which a restarted tenant completes nothing, before one was measured: process start and model load, s. */
const RESTART_S = 4
/** Most configurations that a plan made while running may evaluate: some tens of milliseconds. */
const REPLAN_EVALUATIONS = 1000
/** The lowest clock has not kept the cap for so long: tenants must, ms. */
const INFEASIBLE_MS = 3000
/** Memory that driver and MPS server keep, bytes, and the share that a prediction of the rest may be trusted with. */
const KEPT_BYTES = 384 * 1024 ** 2
const KEPT_MEMORY_SHARE = 0.98
/** Share of the memory to plan for after tenants ran out of it. */
const LESS_MEMORY = 0.9
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
  readonly #models: string | readonly NetworkDemand[]
  readonly #steered: SteeredTenants
  readonly #latency: LatencyWatch
  readonly #shadow: ShadowOptimizer | undefined
  readonly #revival = new TenantRevival()
  readonly #replanning: Replanning
  readonly #shedding: LoadShedding
  readonly #trouble: CapTrouble
  readonly #watch = new BoardWatch()
  readonly #decisions: Decision[] = []
  #memoryBytes: number
  #powerCapW = 0
  #timeMs = 0
  /** When tenants were last started for another reason than a plan. */
  #startedMs = -1
  /** The board does not take its clock. */
  #refused = false
  #restartS = RESTART_S
  #loadingSinceMs: number | undefined
  #dead = 0
  #relockedMs = 0

  /** @throws InvalidInputError where both or neither of `model` and `models` are given */
  constructor(options: PctodlPolicyOptions) {
    this.#options = options
    this.#models = servedNetworks(options)
    this.#steered = new SteeredTenants(options.predictor)
    this.#latency = new LatencyWatch((model) => this.#objectiveMs(model))
    this.#memoryBytes =
      options.partition?.memoryBytes ?? KEPT_MEMORY_SHARE * options.predictor.spec.memoryBytes - KEPT_BYTES
    const { payBackS, sharesAfterS = 35, partition, predictor } = options
    const plan = (modelledCapW: number) => this.#tryPlan(modelledCapW)
    this.#replanning = new Replanning({ predictor, payBackS: payBackS ?? PAY_BACK_S, sharesAfterS, plan })
    this.#shedding = new LoadShedding(predictor)
    // A board with several memory clocks goes down through them first.
    this.#trouble = new CapTrouble(predictor.memClocksMhz.length > 1 ? INFEASIBLE_MS : INFEASIBLE_MS / 2)
    if (options.shadow !== false) {
      const sharePercentStep = partition?.sharePercentStep ?? 5
      this.#shadow = new ShadowOptimizer(options.predictor, {
        ...(payBackS === undefined ? {} : { payBackS }),
        sharePercentStep,
        ...options.shadow,
      })
    }
  }

  /** What the controller last said, for logs and reports. */
  get lastStep(): ClockAction | undefined {
    return this.#steered.lastStep
  }

  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const { fixed, predictor } = this.#options
    const plan = fixed ?? this.#plan(powerCapW)
    const smClockMhz = predictor.solveSmClock(plan.tenants, plan.memClockMhz, powerCapW)
    const lowestMhz = smClocksAt(predictor.spec, plan.memClockMhz)![0]!
    return {
      ...this.#steered.adopt(plan),
      smClockMhz: smClockMhz ?? lowestMhz,
      ...this.#backStop(powerCapW),
      reason: fixed ? 'the configuration given' : `plan for ${powerCapW} W, the board's own limit beside the clock`,
    }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    this.#shadow?.capChanged()
    this.#replanning.capChanged(this.#timeMs)
    return { ...this.#backStop(powerCapW), reason: `new cap ${powerCapW} W: clocks first, tenants later` }
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, reconfiguring, applied } = sample
    this.#timeMs = timeMs
    this.#refused = sample.smClockRefusedMs > 0
    this.#watchLoading(timeMs, reconfiguring)
    if (sample.failures.length !== this.#dead) this.#tenantsDied(sample.failures)
    const step = this.#steered.step(sample)
    this.#decisions.push(...this.#watch.step(step))
    const change =
      this.#shedLoad(sample) ?? this.#backFromTrial(sample) ?? this.#lessMemory(sample) ?? this.#revive(sample)
    this.#watchTrouble(sample, step)
    return { ...this.#clock(step, applied, sample), ...this.#steered.stepMemory(sample), ...change }
  }

  onWindow(window: WindowObservation): Action | undefined {
    if (this.#shedding.active) return undefined
    this.#watchLatency(window)
    const before = this.#shadow?.observe(window, this.#targetW)
    return before && this.#adoptBecause(before, 'the last change did not pay: back to the one before')
  }

  onIdle(timeMs: number, applied: AppliedState): Action | undefined {
    if (this.#shedding.active || this.#dead > 0 || this.#loadingSinceMs !== undefined) return undefined
    const restless = this.#refused || this.#startedMs === timeMs
    if (!this.#options.fixed && !restless && applied.tenants === this.#steered.tenants) {
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

  #clock({ smClockMhz, seen }: ClockAction, applied: AppliedState, sample: SampleObservation): Action {
    const { timeMs, smClockRefusedMs, reconfiguring } = sample
    const lost = seen.clock === 'lost' && smClockRefusedMs === 0 && !reconfiguring
    if (lost && timeMs - this.#relockedMs >= RELOCK_MS) {
      this.#relockedMs = timeMs
      return { smClockMhz, again: true, reason: 'the board does not run the clock that was locked: asked for again' }
    }
    // While the board refuses, the newest wish is repeated, so that no old one is granted later.
    if (smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    const { biasW, targetPowerW, estimatedPowerW } = this.lastStep!
    const reason =
      `estimated ${estimatedPowerW.toFixed(1)} W (model ${biasW < 0 ? '-' : '+'} ${Math.abs(biasW).toFixed(1)} W) ` +
      `for a target of ${targetPowerW.toFixed(1)} W`
    return { smClockMhz, reason }
  }

  #shedLoad(sample: SampleObservation): Action | undefined {
    const change = this.#shedding.step(sample, this.#steered.tenants, this.#steered.memClockMhz)
    return change && this.#start(change.tenants, change.reason)
  }

  /** A tenant failed in a trial, most likely of it: the configuration before is back at once. */
  #backFromTrial({ failures }: SampleObservation): Action | undefined {
    const before = failures.length > 0 ? this.#shadow?.tenantFailed() : undefined
    return before && this.#adoptBecause(before, 'a tenant failed in a trial: back to the configuration before')
  }

  /** Tenants ran out of memory: others that need less, at once. */
  #lessMemory({ failures, reconfiguring, powerCapW }: SampleObservation): Action | undefined {
    if (reconfiguring || this.#shedding.active || this.#options.fixed) return undefined
    if (!failures.some(({ failure }) => ranOutOfMemory(failure))) return undefined
    this.#memoryBytes *= LESS_MEMORY
    return this.#adoptBecause(this.#plan(powerCapW), 'tenants ran out of memory: a plan for less of it')
  }

  #watchTrouble({ timeMs, reconfiguring }: SampleObservation, step: ClockAction): void {
    if (this.#shedding.active) return
    const trouble = this.#trouble.step(timeMs, step, reconfiguring)
    if (trouble === undefined) return
    this.#decide(trouble, troubles[trouble], { estimatedPowerW: step.estimatedPowerW, powerCapW: this.#powerCapW })
    if (trouble === 'throttled') this.#replanning.throttled(timeMs)
    else if (!this.#options.fixed) this.#replanning.capNotKept(timeMs)
    else this.#notHeld(step)
  }

  /** No plan keeps the cap: fewer tenants, and where one is left, the plain truth. */
  #shedForCap(): Action | undefined {
    const step = this.lastStep!
    const clocks = { smClockMhz: step.smClockMhz, memClockMhz: this.#steered.memClockMhz }
    const kept = this.#shedding.fewer(this.#steered.tenants, clocks, step.estimatedPowerW, this.#powerCapW)
    if (kept === undefined) {
      this.#notHeld(step)
      return undefined
    }
    const stopped = this.#steered.tenants.length - kept.length
    this.#decide('load-shed', `no plan keeps ${this.#powerCapW} W: ${stopped} tenants stopped`, { kept: kept.length })
    const { memClockMhz } = this.#steered
    return this.#adoptBecause({ tenants: kept, memClockMhz }, 'fewer tenants, for no plan keeps the cap')
  }

  #notHeld({ estimatedPowerW }: ClockAction): void {
    const reason = `the cap of ${this.#powerCapW} W is not held: the lowest clock draws ${estimatedPowerW.toFixed(1)} W`
    this.#decide('cap-not-held', reason, { estimatedPowerW, powerCapW: this.#powerCapW })
  }

  #revive({ timeMs, failures, reconfiguring }: SampleObservation): Action | undefined {
    if (reconfiguring || this.#shedding.active || failures.length === 0 || !this.#revival.due(timeMs, failures))
      return undefined
    return this.#start(this.#steered.tenants, `dead tenants are started again, attempt ${this.#revival.attempts}`)
  }

  /** The model follows the tenants that are left, so that what is learnt meanwhile is not learnt wrong. */
  #tenantsDied(failures: readonly TenantFailure[]): void {
    this.#dead = failures.length
    const left = [...this.#steered.tenants]
    for (const { tenant } of failures) {
      const index = left.findIndex((other) => other.mpsPercent === tenant.mpsPercent && other.model === tenant.model)
      if (index >= 0) left.splice(index, 1)
    }
    if (failures.length > 0) {
      this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
      if (left.length > 0) this.#steered.onlyRunning(left)
    } else this.#steered.onlyRunning(this.#steered.tenants)
  }

  #watchLoading(timeMs: number, reconfiguring: boolean): void {
    if (reconfiguring) this.#loadingSinceMs ??= timeMs
    else if (this.#loadingSinceMs !== undefined) {
      // What a restart takes on this machine decides what it must bring.
      this.#restartS = (timeMs - this.#loadingSinceMs) / 1000
      this.#loadingSinceMs = undefined
    }
  }

  #reconsider(timeMs: number): Action | undefined {
    const context = this.#shadowContext()
    const measured = this.#shadow?.throughput
    const present = this.#steered.present
    const replan = this.#replanning.step({
      timeMs,
      present,
      powerCapW: this.#powerCapW,
      powerRatio: this.#steered.powerRatio,
      settled: this.lastStep?.status === 'settled',
      infeasible: this.lastStep?.status === 'infeasible',
      restartS: this.#restartS,
      expected: (candidate) =>
        context && measured !== undefined ? this.#shadow?.judge(candidate, context, measured)?.throughput : undefined,
    })
    if (replan === 'helpless') return this.#shedForCap()
    if (!replan) return undefined
    if (replan.forThroughput) this.#shadow?.beginTrial(present, replan.plan)
    return this.#adoptBecause(replan.plan, replan.reason)
  }

  #watchLatency(window: WindowObservation): void {
    const worst = this.#options.fixed ? undefined : this.#latency.step(window)
    if (worst === undefined) return
    const reason = `batches take ${worst.toFixed(2)} times their objective: a plan for shorter ones`
    this.#decide('latency-missed', reason, { worst })
    this.#replanning.latencyMissed(window.endMs)
  }

  #objectiveMs(name: string): number {
    const own = typeof this.#models === 'string' ? undefined : this.#models.find(({ model }) => model === name)
    return own?.latencySloMs ?? this.#options.partition?.latencySloMs ?? Number.POSITIVE_INFINITY
  }

  /** The networks with the objectives that plans are made for. */
  get #demands(): string | readonly NetworkDemand[] {
    const { scale } = this.#latency
    if (scale === 1) return this.#models
    const models = typeof this.#models === 'string' ? [{ model: this.#models }] : this.#models
    return models.map((demand) => ({ ...demand, latencySloMs: scale * this.#objectiveMs(demand.model) }))
  }

  #shadowContext(): ShadowContext | undefined {
    if (this.lastStep?.status !== 'settled') return undefined
    return {
      present: this.#steered.present,
      targetW: this.lastStep.targetPowerW,
      memoryBytes: this.#memoryBytes,
      restartS: this.#restartS,
    }
  }

  /** Power that the clock may be raised to, W. */
  get #targetW(): number {
    return this.lastStep?.targetPowerW ?? this.#powerCapW
  }

  #tryPlan(modelledCapW: number): Configuration | undefined {
    try {
      return this.#plan(modelledCapW, REPLAN_EVALUATIONS)
    } catch (error) {
      // A running service is not ended by a cap that nothing keeps: the clocks go to the bottom, and the status says so.
      if (error instanceof PctodlError && error.code === 'INFEASIBLE_PLAN') {
        this.#decide('plan-infeasible', error.message, {})
        return undefined
      }
      if (!(error instanceof InfeasibleCapError)) throw error
      const lowestFeasibleW = error.lowestFeasibleW * this.#steered.powerRatio
      const reason = `no tenants keep ${this.#powerCapW} W; the lowest cap that some do is ${lowestFeasibleW.toFixed(0)} W`
      this.#decide('plan-infeasible', reason, { lowestFeasibleW })
      return undefined
    }
  }

  #plan(powerCapW: number, mostEvaluations?: number): Configuration {
    const { predictor, powerMarginW = 0, partition: options } = this.#options
    const most = options?.budgetEvaluations ?? 4000
    const budgetEvaluations = Math.min(most, mostEvaluations ?? most)
    const memoryBytes = this.#memoryBytes
    const models = this.#demands
    return planPartition(predictor, { ...options, models, powerCapW, powerMarginW, memoryBytes, budgetEvaluations })
  }

  #adoptBecause(candidate: Candidate, reason: string): Action {
    const adopted = this.#steered.adopt(candidate)
    // The clock is capped before the new tenants draw anything.
    return { ...adopted, smClockMhz: this.#steered.clockBefore(this.#powerCapW), reason }
  }

  /** Other tenants at the same memory clock, and in the same breath the clock at which they keep the cap. */
  #start(tenants: readonly Tenant[], reason: string): Action {
    this.#startedMs = this.#timeMs
    const replaced = this.#steered.replace(tenants)
    return { ...replaced, smClockMhz: this.#steered.clockBefore(this.#powerCapW), reason }
  }

  #backStop(powerCapW: number): Action {
    const { predictor, backstopPercent = 0 } = this.#options
    return backStop(predictor.spec, powerCapW, backstopPercent)
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}

const troubles = {
  infeasible: 'the lowest clock does not keep the cap: other tenants must',
  throttled: 'the firmware has held the clock down for five seconds: the plan is reviewed',
} as const
