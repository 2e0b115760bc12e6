import type { Tenant } from '@pctodl/platform'
import { lockOf } from './actuator.js'
import type { Action, AppliedState, Decision, PowerCapPolicy } from './policy.js'
import type { ActionSource, RunEvent } from './run-event.js'
import { asksForSomething, visibleCapW } from './run-policy.js'

/** A difference between the actions and decisions of the replayed policy and those in the record. */
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

type InForce = Omit<AppliedState, 'tenants'>

/**
 * Replays a run: feeds the recorded observations in order to a new policy, and compares its actions and decisions with
 * the recorded ones. A policy is a state machine, so with the same options it repeats the record. With other options,
 * the first difference shows their effect. Later differences mean less, because the board would have behaved
 * differently after the first one.
 *
 * @param events events of one run, beginning with its `run-start`
 */
export function replayRun(events: readonly RunEvent[], policy: PowerCapPolicy): Replay {
  return new Replayer(events, policy).run()
}

class Replayer {
  readonly #events: readonly RunEvent[]
  readonly #policy: PowerCapPolicy
  readonly #differences: ReplayDifference[] = []
  /** Position in the record. The recorded effects of the present call follow it. */
  #position = 0
  #tenants: readonly Tenant[] = []
  #inForce: InForce = { smClockMhz: null, memClockMhz: null, powerLimitW: 0 }
  #tolerancePercent = 0
  #capW = 0
  #samples = 0
  #windows = 0
  #actions = 0
  #decisions = 0

  constructor(events: readonly RunEvent[], policy: PowerCapPolicy) {
    this.#events = events
    this.#policy = policy
  }

  run(): Replay {
    let pending: Extract<RunEvent, { readonly type: 'sample' }> | undefined
    for (this.#position = 0; this.#position < this.#events.length; this.#position++) {
      const event = this.#events[this.#position]!
      if (event.type === 'sample') {
        this.#samples++
        this.#inForce = event.inForce
        pending = event
      } else this.#tell(event)
      const next = this.#events[this.#position + 1]
      if (!pending || (next !== undefined && belongsToSample(next))) continue
      const sample = pending
      const { timeMs } = sample
      pending = undefined
      this.#call(timeMs, 'sample', (applied) => this.#policy.onSample({ ...sample, powerCapW: this.#capW, applied }))
      if (this.#policy.onIdle) this.#call(timeMs, 'idle', (applied) => this.#policy.onIdle!(timeMs, applied))
    }
    return {
      samples: this.#samples,
      windows: this.#windows,
      actions: this.#actions,
      decisions: this.#decisions,
      differences: this.#differences,
    }
  }

  #tell(event: RunEvent): void {
    const policy = this.#policy
    const { timeMs } = event
    if (event.type === 'run-start') {
      this.#tolerancePercent = event.sensorTolerancePercent ?? 0
      this.#capW = this.#visibleCapW(event.caps[0]!.powerCapW)
      this.#inForce = { ...this.#inForce, powerLimitW: event.powerLimitW }
      this.#call(0, 'start', () => policy.start(this.#capW))
    } else if (event.type === 'window') {
      this.#windows++
      const { window } = event
      const powerCapW = this.#visibleCapW(window.powerCapW)
      this.#call(timeMs, 'window', () =>
        policy.onWindow({ ...window, powerCapW, applied: { ...window.applied, tenants: this.#tenants } }),
      )
    } else if (event.type === 'cap') {
      this.#capW = this.#visibleCapW(event.powerCapW)
      this.#call(timeMs, 'cap-change', (applied) => policy.onCapChange(this.#capW, applied))
    } else if (event.type === 'services') {
      this.#call(timeMs, 'services-change', (applied) => policy.onServicesChange?.(event.services, applied))
    }
  }

  #visibleCapW(powerCapW: number): number {
    return visibleCapW(powerCapW, this.#tolerancePercent)
  }

  /** Calls the policy, compares its answer with the record, and updates the settings in force. */
  #call(timeMs: number, source: ActionSource, decide: (applied: AppliedState) => Action | undefined): void {
    const action = decide({ ...this.#inForce, tenants: this.#tenants })
    const decisions = this.#policy.takeDecisions?.() ?? []
    const asks = action && asksForSomething(action)
    const replayed: (Action | Decision)[] = [...decisions, ...(asks ? [action] : [])]
    const recorded = this.#following(source)
    if (JSON.stringify(replayed) !== JSON.stringify(recorded)) {
      this.#differences.push({ timeMs, source, recorded, replayed })
    }
    this.#decisions += decisions.length
    if (asks) this.#actions++
    if (action?.tenants) this.#tenants = action.tenants
  }

  /**
   * Returns the recorded decisions and action that follow the present position, and applies their effect on the
   * settings in force.
   */
  #following(source: ActionSource): unknown[] {
    const before = this.#inForce
    const recorded: unknown[] = []
    let acted = false
    for (let next = this.#events[this.#position + 1]; next; next = this.#events[this.#position + 1]) {
      if (next.type === 'decision' && next.source === source && !acted) recorded.push(next.decision)
      else if (next.type === 'action' && next.source === source && !acted) {
        acted = true
        recorded.push(next.action)
        this.#inForce = afterAction(this.#inForce, next.action)
      } else if (next.type === 'refused') this.#inForce = { ...this.#inForce, [next.setter]: before[next.setter] }
      else if (next.type === 'granted') this.#inForce = { ...this.#inForce, [next.setter]: next.value }
      else if (next.type !== 'tenant') break
      this.#position++
    }
    return recorded
  }
}

/**
 * True if an event belongs to the preceding sample. The loop reports windows, cap changes and service changes to the
 * policy before it reports that sample.
 */
function belongsToSample({ type }: RunEvent): boolean {
  return type === 'window' || type === 'cap' || type === 'services'
}

function afterAction(before: InForce, { smClockMhz, memClockMhz, powerLimitW }: Action): InForce {
  return {
    smClockMhz: smClockMhz === undefined ? before.smClockMhz : lockOf(smClockMhz),
    memClockMhz: memClockMhz === undefined ? before.memClockMhz : lockOf(memClockMhz),
    powerLimitW: powerLimitW ?? before.powerLimitW,
  }
}
