import { Belief } from './belief.js'
import { ALL } from './clock-observation.js'

/**
 * - `full`: the tenants run at full load, as known;
 * - `other`: at full load, of another power than known: another network behind them, silicon that the model does not know;
 * - `part`: some of them, or all of them part of the time;
 * - `idle`: none;
 * - `changing`: they are being started or stopped.
 */
export type LoadHypothesis = 'full' | 'other' | 'part' | 'idle' | 'changing'

const hypotheses: readonly LoadHypothesis[] = ['full', 'other', 'part', 'idle', 'changing']
const CHANGES_PER_S = 0.2
const UTILISATION_SD = 0.1
/** Power that is low for so long, while all tenants work, is what they draw. */
const LONG_LOW_MS = 60_000
/** A load that was known to be full for so long sets what full utilisation is, ms. */
const REFERENCE_MS = 2000

export interface LoadEvidence {
  readonly durationMs: number
  /** Reading minus estimate, share of the cap; null where none tells. */
  readonly error: number | null
  /** Standard deviation that this error has at full load, with what is uncertain of the estimate. */
  readonly sigma: number
  /** The same of the reading alone. */
  readonly noise: number
  readonly smUtilPercent: number | null
  readonly activeShare: number | null
  readonly stallNoticeMs: number
  readonly idle: boolean
  readonly loading: boolean
}

export interface LoadBeliefState {
  readonly probabilities: number[]
  memory: { lowMs: number; runningMs: number; highestUtilPercent: number }
}

/**
 * What the tenants are doing. Low power alone says little: a lighter network, a pause and a dead client look alike. Their
 * progress and the utilisation tell them apart, and where they do not, the careful reading wins.
 */
export class LoadBelief {
  readonly #belief: Belief<LoadHypothesis>
  readonly #memory: LoadBeliefState['memory']

  constructor(state?: LoadBeliefState) {
    this.#belief = new Belief(hypotheses, 'changing', CHANGES_PER_S, state?.probabilities)
    this.#memory = state?.memory ?? { lowMs: 0, runningMs: 0, highestUtilPercent: 0 }
  }

  get state(): LoadBeliefState {
    return { probabilities: this.#belief.state, memory: this.#memory }
  }

  get mostProbable(): LoadHypothesis {
    return this.#belief.mostProbable
  }

  of(name: LoadHypothesis): number {
    return this.#belief.of(name)
  }

  /** Power has been below the estimate for so long, ms. */
  get lowMs(): number {
    return this.#memory.lowMs
  }

  /** What is known has become what the board does. */
  becomeFull(): void {
    this.#belief.set('full')
    this.#memory.lowMs = 0
  }

  /** New tenants: what full utilisation was is forgotten. */
  begin(): void {
    this.#belief.set('changing')
    this.#memory.lowMs = 0
    this.#memory.runningMs = 0
    this.#memory.highestUtilPercent = 0
  }

  update(evidence: LoadEvidence): void {
    const m = this.#memory
    const { durationMs, error, noise, loading, smUtilPercent } = evidence
    if (loading) {
      this.begin()
      return
    }
    m.runningMs += durationMs
    if (smUtilPercent !== null) m.highestUtilPercent = Math.max(m.highestUtilPercent, smUtilPercent)
    // One reading that scatters up does not end a time of low power, nor does one that scatters down begin it.
    if (error !== null) m.lowMs = Math.max(0, m.lowMs + (error < -3 * noise ? durationMs : -2 * durationMs))
    this.#belief.update(durationMs, (name) => this.#ofPower(name, evidence) * this.#ofActivity(name, evidence))
  }

  #ofPower(name: LoadHypothesis, { error, sigma }: LoadEvidence): number {
    if (error === null) return 1
    switch (name) {
      case 'full':
        return Math.max(1e-6, gaussian(error / sigma) / sigma)
      case 'part':
        return error < 0 ? 1 : 0.05
      case 'idle':
        return error < -3 * sigma ? 1.5 : 0.01
      case 'changing':
        // Whoever changes them, says so.
        return 0.05
      default:
        return 0.5
    }
  }

  #ofActivity(name: LoadHypothesis, { smUtilPercent, activeShare, stallNoticeMs, idle }: LoadEvidence): number {
    const { lowMs, runningMs, highestUtilPercent } = this.#memory
    const working = name === 'full' || name === 'other'
    let likelihood = idle && name !== 'idle' && name !== 'changing' ? 0.01 : 1
    if (smUtilPercent !== null && runningMs >= REFERENCE_MS && highestUtilPercent > 0) {
      const share = smUtilPercent / highestUtilPercent
      if (working) likelihood *= 0.1 + 4 * gaussian((share - 1) / UTILISATION_SD)
      else if (name === 'idle') likelihood *= share < 0.1 ? 8 : 0.01
    }
    if (activeShare !== null && activeShare < ALL)
      return likelihood * (working ? 0.02 : name === 'idle' && activeShare > 0.001 ? 0.1 : 1)
    // All of them complete batches; one that stands still since power fell would not be missed yet.
    if (name === 'part' || name === 'idle') likelihood *= lowMs > LONG_LOW_MS ? 0.001 : lowMs > stallNoticeMs ? 0.1 : 1
    else if (name === 'other') likelihood *= lowMs > 0 && lowMs <= stallNoticeMs ? 0.1 : 1
    return likelihood
  }
}

function gaussian(deviations: number): number {
  return 0.4 * Math.exp(-0.5 * deviations * deviations)
}
