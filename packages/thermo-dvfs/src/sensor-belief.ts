import { Belief } from './belief.js'
import { CrossCheck, type CrossCheckState } from './cross-check.js'

/**
 * - `good`: readings come, vary, and agree with every other witness;
 * - `late`: they tell of power that is older than they should be;
 * - `frozen`: they repeat the last one;
 * - `missing`: none come;
 * - `doubted`: another witness of the same power disagrees.
 */
export type SensorHypothesis = 'good' | 'late' | 'frozen' | 'missing' | 'doubted'

const hypotheses: readonly SensorHypothesis[] = ['good', 'late', 'frozen', 'missing', 'doubted']
const CHANGES_PER_S = 0.2

export interface SensorEvidence {
  readonly timeMs: number
  readonly durationMs: number
  /** A reading came. */
  readonly present: boolean
  /** It differs from the one before. */
  readonly varied: boolean
  /** The clock has moved by so much since a reading last varied that it should have. */
  readonly shouldVary: boolean
  /** Readings are known to be this late, ms. */
  readonly lagMs: number
  /** Mean power of the last second by the readings, W; null where it is not known. */
  readonly readingW: number | null
  /** Nothing changed within that second, so that witnesses of unlike windows can be compared. */
  readonly steady: boolean
  readonly energyJ: number | null
  readonly meterPowerW: number | null
}

export interface SensorBeliefState {
  readonly probabilities: number[]
  readonly counter: CrossCheckState
  readonly meter: CrossCheckState
  memory: { energyJ: number | null; energyMs: number }
}

/** What the power readings are worth. */
export class SensorBelief {
  readonly #belief: Belief<SensorHypothesis>
  readonly #counter: CrossCheck
  readonly #meter: CrossCheck
  readonly #memory: SensorBeliefState['memory']

  constructor(state?: SensorBeliefState) {
    this.#belief = new Belief(hypotheses, 'good', CHANGES_PER_S, state?.probabilities)
    this.#counter = new CrossCheck(state?.counter)
    this.#meter = new CrossCheck(state?.meter)
    this.#memory = state?.memory ?? { energyJ: null, energyMs: 0 }
  }

  get state(): SensorBeliefState {
    return {
      probabilities: this.#belief.state,
      counter: this.#counter.state,
      meter: this.#meter.state,
      memory: this.#memory,
    }
  }

  get mostProbable(): SensorHypothesis {
    return this.#belief.mostProbable
  }

  of(name: SensorHypothesis): number {
    return this.#belief.of(name)
  }

  /** Readings times this are what the least favourable witness says, at least 1. */
  get correction(): number {
    return Math.max(1, this.#counter.correction, this.#meter.correction)
  }

  update(evidence: SensorEvidence): void {
    const { durationMs, present, varied, lagMs, shouldVary } = evidence
    const standsStill = this.#witness(evidence)
    const doubted = this.#counter.disagrees || this.#meter.disagrees
    // A quiet load on a coarse sensor may repeat itself; not while the clock moves, and the energy counter never rests.
    const repeats = shouldVary || standsStill ? 0.15 : 0.97
    this.#belief.update(durationMs, (name) => {
      if (!present) return name === 'missing' ? 1 : name === 'frozen' ? 0.1 : 0.02
      if (name === 'missing') return 0.001
      if (!varied) return name === 'frozen' ? 1 : repeats
      if (name === 'frozen') return 0.001
      if (name === 'doubted') return doubted ? 1 : 0.05
      if (doubted) return 0.05
      if (name === 'late') return lagMs > 0 ? 1 : 0.1
      return lagMs > 0 ? 0.1 : 1
    })
  }

  /** @returns whether the energy counter was read and stands still */
  #witness({ timeMs, readingW, steady, energyJ, meterPowerW, varied }: SensorEvidence): boolean {
    const m = this.#memory
    const moved = energyJ !== null && m.energyJ !== null && energyJ > m.energyJ
    const spanMs = timeMs - m.energyMs
    if (moved && steady && varied && readingW !== null && spanMs > 0 && spanMs < 1000) {
      this.#counter.compare(timeMs, spanMs, readingW, ((energyJ - m.energyJ!) / spanMs) * 1000)
    } else if (!steady) this.#counter.interrupt()
    if (meterPowerW !== null && steady && readingW !== null) {
      this.#meter.compare(timeMs, Math.max(1, spanMs), readingW, meterPowerW)
    } else if (!steady) this.#meter.interrupt()
    const first = m.energyJ === null
    if (moved || first) {
      m.energyJ = energyJ
      m.energyMs = timeMs
    }
    return energyJ !== null && !moved && !first
  }
}
