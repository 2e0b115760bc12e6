import type { Configuration, Tenant } from '@pctodl/platform'
import type { ClockAction } from '@pctodl/thermo-dvfs'
import type { Candidate } from '../neighbourhood.js'
import type {
  Action,
  AppliedState,
  Decision,
  PowerCapPolicy,
  SampleObservation,
  TenantFailure,
  WindowObservation,
} from '../policy.js'
import { type ShadowContext, ShadowOptimizer } from '../shadow-optimizer.js'
import { BoardWatch } from './board-watch.js'
import { ControlledTenants } from './controlled-tenants.js'
import { hardwareLimit } from './hardware-limit.js'
import { LoadShedding } from './load-shedding.js'
import type { PctodlPolicyOptions } from './pctodl-policy-options.js'
import { Planner } from './planner.js'
import { TenantPlan } from './tenant-plan.js'
import { ranOutOfMemory, TenantRevival } from './tenant-revival.js'

/** Default of `payBackS`: the longest time in which a plan must regain the samples lost in restarts, s. */
const PAY_BACK_S = 300
/** Assumed time for a process to start and load its model, s. It is used until a restart has been measured. */
const RESTART_S = 4
/**
 * If latency is at most this multiple of the objective, batches are made smaller without a restart; above it, another
 * plan is made.
 */
const NEARLY = 1.15
/** Interval between repeated requests if the board does not run the locked clock, ms. */
const RELOCK_MS = 2000

/**
 * The PctoDL policy. The predictor chooses shares, batch sizes and clocks; the SM clock then holds the cap, with a
 * decision ten times a second. After a cap change, the clock changes at once; tenants change later, and only if the
 * gain repays the restarts. The optional shadow optimizer searches between samples.
 */
export class PctodlPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: PctodlPolicyOptions
  readonly #planner: Planner
  readonly #controlled: ControlledTenants
  readonly #shadow: ShadowOptimizer | undefined
  readonly #revival = new TenantRevival()
  readonly #tenantPlan: TenantPlan
  readonly #shedding: LoadShedding
  readonly #watch = new BoardWatch()
  readonly #decisions: Decision[] = []
  #powerCapW = 0
  #timeMs = 0
  /** Time at which tenants were last started for a reason other than a new plan, ms. */
  #startedMs = -1
  /** Whether the board is refusing the SM clock. */
  #refused = false
  #restartS = RESTART_S
  #loadingSinceMs: number | undefined
  #dead = 0
  #relockedMs = 0

  /** @throws InvalidInputError if both or neither of `model` and `models` are given */
  constructor(options: PctodlPolicyOptions) {
    this.#options = options
    this.#planner = new Planner(options)
    this.#controlled = new ControlledTenants(options.predictor, options.without)
    const { payBackS = PAY_BACK_S, predictor } = options
    const plan = (modelledCapW: number, optional: boolean) => this.#tryPlan(modelledCapW, optional)
    this.#tenantPlan = new TenantPlan({ predictor, payBackS, plan })
    this.#shedding = new LoadShedding(predictor)
    if (options.shadow) this.#shadow = new ShadowOptimizer(predictor, options.shadow)
  }

  /** Last decision of the SM clock controller, for logs and reports. */
  get lastStep(): ClockAction | undefined {
    return this.#controlled.lastStep
  }

  start(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    const { fixed } = this.#options
    const adopted = this.#controlled.adopt(fixed ?? this.#planner.plan(powerCapW))
    const limit = this.#hardwareLimit(powerCapW)
    return {
      ...adopted,
      ...limit,
      smClockMhz: this.#controlled.clockBefore(powerCapW, limit.powerLimitW),
      reason: fixed
        ? 'the configuration given'
        : `plan for ${powerCapW} W, with the board's own power limit as a safeguard`,
    }
  }

  onCapChange(powerCapW: number): Action {
    this.#powerCapW = powerCapW
    this.#shadow?.capChanged()
    this.#tenantPlan.capChanged(this.#timeMs)
    return { ...this.#hardwareLimit(powerCapW), reason: `new cap ${powerCapW} W: clocks first, tenants later` }
  }

  onSample(sample: SampleObservation): Action | undefined {
    const { timeMs, reconfiguring, applied } = sample
    this.#timeMs = timeMs
    this.#refused = sample.smClockRefusedMs > 0
    this.#watchLoading(timeMs, reconfiguring)
    if (sample.failures.length !== this.#dead) this.#tenantsDied(sample.failures)
    const step = this.#controlled.step(sample)
    this.#decisions.push(...this.#watch.step(step))
    const change =
      this.#shedLoad(sample) ?? this.#backFromTrial(sample) ?? this.#lessMemory(sample) ?? this.#revive(sample)
    this.#watchTrouble(sample, step)
    return { ...this.#clock(step, applied, sample), ...this.#controlled.stepMemory(sample), ...change }
  }

  onWindow(window: WindowObservation): Action | undefined {
    if (this.#shedding.active) return undefined
    const shorter = this.#watchLatency(window)
    if (shorter) return shorter
    const before = this.#shadow?.observe(window, this.#targetW)
    return before && this.#adoptBecause(before, 'the last change did not pay: it is reverted')
  }

  onIdle(timeMs: number, applied: AppliedState): Action | undefined {
    if (this.#shedding.active || this.#dead > 0 || this.#loadingSinceMs !== undefined) return undefined
    const restless = this.#refused || this.#startedMs === timeMs
    if (!this.#options.fixed && !restless && applied.tenants === this.#controlled.present.tenants) {
      const replan = this.#reconsider(timeMs)
      if (replan || this.#tenantPlan.pending) return replan
    }
    const suggestion = this.#shadow?.idle(() => this.#shadowContext())
    return suggestion && this.#adoptBecause(suggestion, 'the shadow optimizer tries a neighbour')
  }

  takeDecisions(): readonly Decision[] {
    const ofShadow = this.#shadow?.takeDecisions() ?? []
    return [...this.#decisions.splice(0), ...this.#tenantPlan.takeDecisions(), ...ofShadow]
  }

  #clock({ smClockMhz, seen }: ClockAction, applied: AppliedState, sample: SampleObservation): Action {
    const { timeMs, smClockRefusedMs, reconfiguring } = sample
    const lost = seen.clock === 'lost' && smClockRefusedMs === 0 && !reconfiguring
    if (lost && timeMs - this.#relockedMs >= RELOCK_MS) {
      this.#relockedMs = timeMs
      return { smClockMhz, again: true, reason: 'the board does not run the locked clock: it is requested again' }
    }
    // While the board refuses a clock, the newest request replaces the pending one, so that the board never grants an
    // outdated clock.
    if (smClockMhz === applied.smClockMhz && smClockRefusedMs === 0) return {}
    const { biasW, targetPowerW, estimatedPowerW } = this.lastStep!
    const reason =
      `estimated ${estimatedPowerW.toFixed(1)} W (model ${biasW < 0 ? '-' : '+'} ${Math.abs(biasW).toFixed(1)} W) ` +
      `for a target of ${targetPowerW.toFixed(1)} W`
    return { smClockMhz, reason }
  }

  #shedLoad(sample: SampleObservation): Action | undefined {
    const { present, powerRatio } = this.#controlled
    const delayMs = this.lastStep?.seen.delayMs ?? 0
    const change = this.#shedding.step(sample, present, powerRatio, delayMs)
    // If all tenants stop, the model keeps the last tenants, because some or all of them return later.
    return change?.tenants.length === 0 ? change : change && this.#start(change.tenants, change.reason)
  }

  /** If a tenant fails during a trial, the trial is the likely cause: returns to the configuration before it. */
  #backFromTrial({ failures }: SampleObservation): Action | undefined {
    const before = failures.length > 0 ? this.#shadow?.tenantFailed() : undefined
    return before && this.#adoptBecause(before, 'a tenant failed in a trial: the trial is reverted')
  }

  /** If tenants ran out of memory, adopts at once a plan that needs less memory. */
  #lessMemory({ failures, reconfiguring, powerCapW }: SampleObservation): Action | undefined {
    if (reconfiguring || this.#shedding.active || this.#options.fixed) return undefined
    if (!failures.some(({ failure }) => ranOutOfMemory(failure))) return undefined
    this.#planner.reduceMemory()
    return this.#adoptBecause(this.#planner.plan(powerCapW), 'tenants ran out of memory: a new plan that needs less')
  }

  #watchTrouble({ timeMs, reconfiguring }: SampleObservation, step: ClockAction): void {
    if (this.#shedding.active) return
    const trouble = this.#tenantPlan.watch(timeMs, step, reconfiguring, this.#controlled.memoryIsLowest)
    if (trouble === undefined) return
    this.#decide(trouble, troubles[trouble], { estimatedPowerW: step.estimatedPowerW, powerCapW: this.#powerCapW })
    if (trouble === 'throttled') return
    if (this.#options.fixed) this.#notHeld(step)
    else this.#tenantPlan.missed('cap')
  }

  /** Stops tenants because no plan holds the cap. With only one tenant left, reports that the cap cannot be held. */
  #shedForCap(): Action | undefined {
    const step = this.lastStep!
    const { tenants, memClockMhz } = this.#controlled.present
    const clocks = { smClockMhz: step.smClockMhz, memClockMhz }
    const kept = this.#shedding.fewer(tenants, clocks, step.estimatedPowerW, this.#powerCapW)
    if (kept === undefined) {
      this.#notHeld(step)
      return undefined
    }
    const stopped = tenants.length - kept.length
    this.#decide('load-shed', `no plan holds ${this.#powerCapW} W: ${stopped} tenants stopped`, { kept: kept.length })
    return this.#adoptBecause({ tenants: kept, memClockMhz }, 'fewer tenants, because no plan holds the cap')
  }

  #notHeld({ estimatedPowerW }: ClockAction): void {
    const reason = `the cap of ${this.#powerCapW} W is not held: the lowest clock draws ${estimatedPowerW.toFixed(1)} W`
    this.#decide('cap-not-held', reason, { estimatedPowerW, powerCapW: this.#powerCapW })
  }

  #revive({ timeMs, failures, reconfiguring }: SampleObservation): Action | undefined {
    if (reconfiguring || this.#shedding.active || failures.length === 0 || !this.#revival.due(timeMs, failures))
      return undefined
    return this.#start(
      this.#controlled.present.tenants,
      `dead tenants are restarted, attempt ${this.#revival.attempts}`,
    )
  }

  /**
   * Sets the controller's model to the tenants that still run, so that it does not learn from the missing power of dead
   * tenants.
   */
  #tenantsDied(failures: readonly TenantFailure[]): void {
    this.#dead = failures.length
    const left = [...this.#controlled.present.tenants]
    for (const { tenant } of failures) {
      const index = left.findIndex((other) => other.mpsPercent === tenant.mpsPercent && other.model === tenant.model)
      if (index >= 0) left.splice(index, 1)
    }
    if (failures.length > 0) {
      this.#decide('tenants-died', failures.map(({ failure }) => failure).join('; '), { failures })
      if (left.length > 0) this.#controlled.onlyRunning(left)
    } else this.#controlled.onlyRunning(this.#controlled.present.tenants)
  }

  #watchLoading(timeMs: number, reconfiguring: boolean): void {
    if (reconfiguring) this.#loadingSinceMs ??= timeMs
    else if (this.#loadingSinceMs !== undefined) {
      // The measured restart time decides how large the gain of a restart must be.
      this.#restartS = (timeMs - this.#loadingSinceMs) / 1000
      this.#loadingSinceMs = undefined
    }
  }

  #reconsider(timeMs: number): Action | undefined {
    const change = this.#tenantPlan.step({
      timeMs,
      present: this.#controlled.present,
      powerCapW: this.#powerCapW,
      powerRatio: this.#controlled.powerRatio,
      settled: this.lastStep?.status === 'settled',
      infeasible: this.lastStep?.status === 'infeasible',
      restartS: this.#restartS,
    })
    if (change === 'helpless') return this.#shedForCap()
    return change && this.#adoptBecause(change.plan, change.reason)
  }

  #watchLatency(window: WindowObservation): Action | undefined {
    const worst = this.#options.fixed ? undefined : this.#planner.latency.step(window)
    if (worst === undefined) return undefined
    const times = `batches take ${worst.toFixed(2)} times their objective`
    const { tenants, memClockMhz } = this.#controlled.present
    const shorter =
      worst <= NEARLY && window.tenants.length === tenants.length && this.#planner.latency.shortened(window)
    if (shorter) {
      this.#decide('latency-missed', `${times}: smaller batches`, { worst })
      return this.#adoptBecause({ tenants: shorter, memClockMhz }, `${times}: smaller batches, which need no restart`)
    }
    this.#decide('latency-missed', `${times}: a new plan with shorter batches`, { worst })
    this.#tenantPlan.missed('objective')
    return undefined
  }

  #shadowContext(): ShadowContext | undefined {
    if (this.lastStep?.status !== 'settled') return undefined
    return {
      present: this.#controlled.present,
      targetW: this.lastStep.targetPowerW,
      memoryBytes: this.#planner.memoryBytes,
      restartS: this.#restartS,
    }
  }

  /** Power up to which the controller may raise the clock, W. */
  get #targetW(): number {
    return this.lastStep?.targetPowerW ?? this.#powerCapW
  }

  /**
   * Makes a plan while tenants run. An infeasible cap does not end the run: it is reported, and the plan with the
   * lowest power is used.
   */
  #tryPlan(modelledCapW: number, optional: boolean): Configuration | undefined {
    const plan = this.#planner.replan(modelledCapW)
    if ('tenants' in plan) return plan
    if (optional) return undefined
    if (plan.lowestFeasibleW === null) {
      this.#decide('plan-infeasible', plan.message, {})
      return undefined
    }
    const lowestFeasibleW = plan.lowestFeasibleW * this.#controlled.powerRatio
    const reason = `no tenants hold ${this.#powerCapW} W; the lowest feasible cap is ${lowestFeasibleW.toFixed(0)} W`
    this.#decide('plan-infeasible', reason, { lowestFeasibleW })
    // If no plan holds the cap, use the one with the lowest power.
    const least = this.#planner.replan(plan.lowestFeasibleW)
    return 'tenants' in least ? least : undefined
  }

  #adoptBecause(candidate: Candidate, reason: string): Action {
    const adopted = this.#controlled.adopt(candidate)
    // The clock is set before the new tenants draw power.
    return { ...adopted, smClockMhz: this.#controlled.clockBefore(this.#powerCapW), reason }
  }

  /** Starts other tenants at the present memory clock, and requests the SM clock at which they hold the cap. */
  #start(tenants: readonly Tenant[], reason: string): Action {
    this.#startedMs = this.#timeMs
    const replaced = this.#controlled.replace(tenants)
    return { ...replaced, smClockMhz: this.#controlled.clockBefore(this.#powerCapW), reason }
  }

  #hardwareLimit(powerCapW: number): Action {
    const { predictor, hardwareLimitPercent = 0 } = this.#options
    return hardwareLimit(predictor.spec, powerCapW, hardwareLimitPercent)
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}

const troubles = {
  infeasible: 'the lowest clock does not hold the cap: other tenants are needed',
  throttled: 'the firmware has held the clock down for five seconds: the plan is reviewed',
} as const
