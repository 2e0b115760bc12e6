import { Belief } from './belief.js'

/**
 * - `asked`: the board runs the clock that was asked for;
 * - `throttled`: its firmware holds it below, for power or heat;
 * - `lost`: it runs another one, and nobody says why: refused, forgotten, or told late.
 */
export type ClockHypothesis = 'asked' | 'throttled' | 'lost'

const hypotheses: readonly ClockHypothesis[] = ['asked', 'throttled', 'lost']
const CHANGES_PER_S = 0.3
/** Steps of the clock table that a measured clock may be above; below, firmware that trims power takes one or two for a moment. */
const STEPS_ABOVE = 0.75
const STEPS_BELOW = 2.5
/** The same where the board's own limit holds the cap: there trimming is what the firmware is for. */
const STEPS_TRIMMED = 6.5

export interface ClockEvidence {
  readonly durationMs: number
  /** Measured minus requested clock, in steps of the clock table; null where none was measured. */
  readonly steps: number | null
  /** The firmware says that it holds the clock down. */
  readonly throttled: boolean
  readonly refused: boolean
  /** The board's own limit holds the cap. */
  readonly held: boolean
  /** A request is on its way, or the board is idle and rests: a deviation says nothing. */
  readonly excused: boolean
}

/** Whether the board runs the clock that was asked for. */
export class ClockBelief {
  readonly #belief: Belief<ClockHypothesis>

  constructor(state?: number[]) {
    this.#belief = new Belief(hypotheses, 'asked', CHANGES_PER_S, state)
  }

  get state(): number[] {
    return this.#belief.state
  }

  get mostProbable(): ClockHypothesis {
    return this.#belief.mostProbable
  }

  of(name: ClockHypothesis): number {
    return this.#belief.of(name)
  }

  update({ durationMs, steps, throttled, refused, held, excused }: ClockEvidence): void {
    if (refused) {
      this.#belief.set('lost')
      return
    }
    if (steps === null) return
    const there = steps <= STEPS_ABOVE && steps >= -(held ? STEPS_TRIMMED : STEPS_BELOW)
    if (excused && !there) return
    this.#belief.update(durationMs, (name) => {
      if (name === 'asked') return there ? 0.9 : 0.05
      if (name === 'throttled') return there ? 0.05 : steps < 0 ? (throttled ? 0.9 : 0.2) : 0.01
      return there ? 0.02 : throttled && steps < 0 ? 0.1 : 0.5
    })
  }
}
