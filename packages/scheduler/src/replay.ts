import type { Tenant } from '@pctodl/platform'
import type { Action, AppliedState, Decision, PowerCapPolicy } from './policy.js'
import type { ActionSource, RunEvent } from './run-event.js'
import { toldCapW } from './run-policy.js'

/** A difference between the replayed and the recorded policy. */
export interface ReplayDifference {
  readonly timeMs: number
  readonly source: ActionSource
  readonly recorded: readonly unknown[]
  readonly replayed: readonly unknown[]
}

export interface Replay {
  readonly samples: number
  readonly windows: number
  readonly actions: number
  readonly decisions: number
  readonly differences: readonly ReplayDifference[]
}

type Sample = Extract<RunEvent, { readonly type: 'sample' }>

/**
 * Feed a fresh policy everything that a recorded one saw, in order, and compare both. A policy is a state machine, so
 * with the same options it repeats the record. With other options, the differences up to the first one are what these
 * would have changed; after it, the board would have answered differently.
 *
 * @param events of one run, from its `run-start` on
 */
export function replayRun(events: readonly RunEvent[], policy: PowerCapPolicy): Replay {
  return new Replayer(events, policy).run()
}

class Replayer {
  readonly #events: readonly RunEvent[]
  readonly #policy: PowerCapPolicy
  readonly #differences: ReplayDifference[] = []
  /** Position in the record from which the effects of the present call are searched. */
  #position = 0
  #tenants: readonly Tenant[] = []
  #actions = 0
  #decisions = 0

  constructor(events: readonly RunEvent[], policy: PowerCapPolicy) {
    this.#events = events
    this.#policy = policy
  }

  run(): Replay {
    let samples = 0
    let windows = 0
    let pending: Sample | undefined
    let inForce: Omit<AppliedState, 'tenants'> = { smClockMhz: null, memClockMhz: null, powerLimitW: 0 }
    const finish = () => {
      const sample = pending
      if (!sample) return
      pending = undefined
      const { timeMs, telemetry, reconfiguring, smClockRefusedMs, failures } = sample
      const applied = { ...inForce, tenants: this.#tenants }
      const seen = {
        timeMs,
        telemetry,
        powerCapW: capW,
        applied,
        reconfiguring,
        smClockRefusedMs,
        failures,
        ...(sample.activeShare === undefined ? {} : { activeShare: sample.activeShare }),
        ...(sample.stallNoticeMs === undefined ? {} : { stallNoticeMs: sample.stallNoticeMs }),
        ...(sample.meterPowerW === undefined ? {} : { meterPowerW: sample.meterPowerW }),
        ...(sample.services === undefined ? {} : { services: sample.services }),
      }
      inForce = this.#call(timeMs, 'sample', inForce, () => this.#policy.onSample(seen))
      const { onIdle } = this.#policy
      if (onIdle) {
        const idle = { ...inForce, tenants: this.#tenants }
        this.#call(timeMs, 'idle', inForce, () => onIdle.call(this.#policy, timeMs, idle))
      }
    }
    let capW = 0
    let tolerancePercent = 0
    for (this.#position = 0; this.#position < this.#events.length; this.#position++) {
      const event = this.#events[this.#position]!
      if (event.type === 'run-start') {
        tolerancePercent = event.sensorTolerancePercent ?? 0
        capW = toldCapW(event.caps[0]!.powerCapW, tolerancePercent)
        inForce = { ...inForce, powerLimitW: event.powerLimitW }
        inForce = this.#call(0, 'start', inForce, () => this.#policy.start(capW))
      } else if (event.type === 'sample') {
        samples++
        pending = event
        inForce = event.inForce
      } else if (event.type === 'window') {
        windows++
        const applied = { ...event.window.applied, tenants: this.#tenants }
        inForce = this.#call(event.timeMs, 'window', inForce, () =>
          this.#policy.onWindow({
            ...event.window,
            powerCapW: toldCapW(event.window.powerCapW, tolerancePercent),
            applied,
          }),
        )
      } else if (event.type === 'cap') {
        capW = toldCapW(event.powerCapW, tolerancePercent)
        const applied = { ...inForce, tenants: this.#tenants }
        inForce = this.#call(event.timeMs, 'cap-change', inForce, () => this.#policy.onCapChange(capW, applied))
      } else if (event.type === 'services') {
        const applied = { ...inForce, tenants: this.#tenants }
        inForce = this.#call(event.timeMs, 'services-change', inForce, () =>
          this.#policy.onServicesChange?.(event.services, applied),
        )
      }
      const next = this.#events[this.#position + 1]
      if (next === undefined || !belongsToSample(next)) finish()
    }
    return { samples, windows, actions: this.#actions, decisions: this.#decisions, differences: this.#differences }
  }

  /** Let the policy decide, compare with the record, and return the settings in force afterwards. */
  #call(
    timeMs: number,
    source: ActionSource,
    before: Omit<AppliedState, 'tenants'>,
    decide: () => Action | undefined,
  ): Omit<AppliedState, 'tenants'> {
    const action = decide()
    const decisions = this.#policy.takeDecisions?.() ?? []
    const asks = action && Object.keys(action).some((key) => key !== 'reason' && key !== 'powerLimitRole')
    const replayed: (Action | Decision)[] = [...decisions, ...(asks ? [action] : [])]
    const { recorded, inForce } = this.#following(source, before)
    if (JSON.stringify(replayed) !== JSON.stringify(recorded)) {
      this.#differences.push({ timeMs, source, recorded, replayed })
    }
    this.#decisions += decisions.length
    if (asks) this.#actions++
    if (action?.tenants) this.#tenants = action.tenants
    return inForce
  }

  /** The next decisions and action of the record, and their effect on the board. */
  #following(source: ActionSource, before: Omit<AppliedState, 'tenants'>) {
    const recorded: unknown[] = []
    let inForce = before
    let acted = false
    for (let next = this.#events[this.#position + 1]; next; next = this.#events[this.#position + 1]) {
      if (next.type === 'decision' && next.source === source && !acted) recorded.push(next.decision)
      else if (next.type === 'action' && next.source === source && !acted) {
        acted = true
        recorded.push(next.action)
        inForce = afterAction(inForce, next.action)
      } else if (next.type === 'refused') inForce = { ...inForce, [next.setter]: before[next.setter] }
      else if (next.type === 'granted') inForce = { ...inForce, [next.setter]: next.value }
      else if (next.type !== 'tenant') break
      this.#position++
    }
    return { recorded, inForce }
  }
}

/** Windows, cap changes and service changes come after a sample was taken and before the policy sees it. */
function belongsToSample(event: RunEvent): boolean {
  return event.type === 'window' || event.type === 'cap' || event.type === 'services'
}

function afterAction(before: Omit<AppliedState, 'tenants'>, action: Action): Omit<AppliedState, 'tenants'> {
  const lock = (clock: number | 'unlocked' | undefined, old: number | null) =>
    clock === undefined ? old : clock === 'unlocked' ? null : clock
  return {
    smClockMhz: lock(action.smClockMhz, before.smClockMhz),
    memClockMhz: lock(action.memClockMhz, before.memClockMhz),
    powerLimitW: action.powerLimitW ?? before.powerLimitW,
  }
}
