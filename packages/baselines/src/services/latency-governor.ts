import type { Action, SampleObservation, WindowObservation } from '@pctodl/scheduler'
import { anyQueueIsLong } from './long-queue.js'
import { ServicesGovernor } from './services-governor.js'

/** Above this part of its objective a service's p99 is too near to it, and below this other one all may be slower. */
const TOO_NEAR = 0.9
const ROOM = 0.7
const UP = 1.25
const DOWN = 0.95

/**
 * The simplest way to save energy with a latency objective, as Rubik and Gemini have it for processors: every window the clock goes
 * down a little while the p99 of all services is well within its objective, and up a good deal where one is not. It
 * predicts nothing. The board's limit at the cap is behind it.
 */
export class LatencyGovernorPolicy extends ServicesGovernor {
  readonly name = 'latency-governor'

  onSample({ services = [] }: SampleObservation): Action | undefined {
    const top = this.clocksMhz.at(-1)!
    return anyQueueIsLong(this.services, services) && this.clockMhz < top ? this.goTo(top) : undefined
  }

  onWindow({ services = [], reconfigured }: WindowObservation): Action | undefined {
    if (reconfigured) return undefined
    const nearness = services.map(({ service: name, p99Ms, shed, failed, queued }) => {
      const service = this.services.find((candidate) => candidate.name === name)
      if (shed > 0 || failed > 0 || (p99Ms === null && queued > 0)) return Number.POSITIVE_INFINITY
      return service === undefined || p99Ms === null ? 0 : p99Ms / service.objective.p99Ms
    })
    const nearest = Math.max(0, ...nearness)
    if (nearest > TOO_NEAR) return this.goTo(UP * this.clockMhz)
    return nearest < ROOM ? this.goTo(DOWN * this.clockMhz) : undefined
  }
}
