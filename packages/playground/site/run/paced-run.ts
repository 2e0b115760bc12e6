import type { SimulatedGpu } from '@pctodl/gpu-sim'
import type { CapStep } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'
import { faultOf } from './disturbances.js'
import { PacedClock } from './paced-clock.js'
import { FrameBuilder, type RunFrame, type RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/**
 * A run in virtual time that advances only as far as it is allowed to. During the run, disturbances can be injected and
 * the cap can be changed.
 */
export abstract class PacedRun {
  protected readonly clock: PacedClock = new PacedClock()
  /** The cap schedule of the run. Changes of the cap during the run are written into this array. */
  protected readonly caps: CapStep[]
  /** The simulated board; undefined before the run begins. */
  protected gpu: SimulatedGpu | undefined
  readonly #frames = new FrameBuilder()
  readonly #lines: string[] = []

  constructor(caps: readonly CapStep[]) {
    this.caps = [...caps]
  }

  /** Runs to the end. @throws what the policy throws, or the signal's reason */
  abstract run(signal: AbortSignal): Promise<RunOutcome>

  /** Adds a burst of requests from a time on, s. Only runs of services support this. */
  burst(_atS: number): void {}

  /** Present virtual time of the run, ms. */
  get timeMs(): number {
    return this.clock.now()
  }

  /** Allows the run to continue to this time, ms. */
  allow(untilMs: number): void {
    this.clock.allow(untilMs)
  }

  /** Stops virtual time. */
  hold(): void {
    this.clock.hold()
  }

  /** Replaces the cap schedule. The new schedule must contain the past caps as well. */
  changeCaps(caps: readonly CapFrom[]): void {
    this.caps.splice(0, Infinity, ...stepsOf(caps))
  }

  /** Injects a disturbance. If its time has passed, it takes effect at once. */
  disturb(disturbance: Disturbance): void {
    const fault = faultOf(disturbance)
    this.gpu?.strike({ ...fault, atMs: Math.max(0, fault.atMs - this.timeMs) })
  }

  /** Returns the events since the last call; undefined without new events. */
  frame(): RunFrame | undefined {
    return this.#frames.isEmpty ? undefined : this.#frames.take()
  }

  /** Returns all events and decisions so far in the log format of `pctodl run`: one line of JSON for each event. */
  record(): string {
    return this.#lines.join('')
  }

  protected seen(event: RunEvent): void {
    this.#frames.add(event)
    this.#lines.push(`${JSON.stringify(event)}\n`)
  }
}

export function stepsOf(caps: readonly CapFrom[]): CapStep[] {
  return caps.map(({ powerCapW, atS }) => ({ atMs: atS * 1000, powerCapW }))
}
