import type { SimulatedGpu } from '@pctodl/gpu-sim'
import type { CapStep } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'
import { faultOf } from './disturbances.js'
import { PacedClock } from './paced-clock.js'
import { FrameBuilder, type RunFrame, type RunOutcome } from './run-frame.js'
import type { CapFrom, Disturbance } from './run-question.js'

/** A run in virtual time that advances only as far as allowed, and that can be disturbed meanwhile. */
export abstract class PacedRun {
  protected readonly clock: PacedClock = new PacedClock()
  /** The schedule in force; changes of the cap during the run enter here. */
  protected readonly caps: CapStep[]
  /** Absent before the run begins. */
  protected gpu: SimulatedGpu | undefined
  readonly #frames = new FrameBuilder()
  readonly #lines: string[] = []

  constructor(caps: readonly CapStep[]) {
    this.caps = [...caps]
  }

  /** Run to the end. @throws what its policy throws; the signal's reason */
  abstract run(signal: AbortSignal): Promise<RunOutcome>

  /** Runs of services: additional requests from a time on, s. */
  burst(_atS: number): void {}

  /** Where the run has come to, ms. */
  get timeMs(): number {
    return this.clock.now()
  }

  /** Let it go on to a time, ms. */
  allow(untilMs: number): void {
    this.clock.allow(untilMs)
  }

  /** Stand still. */
  hold(): void {
    this.clock.hold()
  }

  /** The caps from now on, including those of the past. */
  changeCaps(caps: readonly CapFrom[]): void {
    this.caps.splice(0, Infinity, ...stepsOf(caps))
  }

  /** A disturbance whose time has passed strikes at once. */
  disturb(disturbance: Disturbance): void {
    const fault = faultOf(disturbance)
    this.gpu?.strike({ ...fault, atMs: Math.max(0, fault.atMs - this.timeMs) })
  }

  /** Events since the last call; undefined if there are none. */
  frame(): RunFrame | undefined {
    return this.#frames.isEmpty ? undefined : this.#frames.take()
  }

  /** All events and decisions so far, as the log of `pctodl run`: one line of JSON per event. */
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
