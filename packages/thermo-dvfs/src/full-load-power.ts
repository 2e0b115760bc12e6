import type { ClockTuning } from './clock-tuning.js'
import { PowerEstimate, type PowerEstimateState } from './power-estimate.js'

export interface FullLoadPowerState {
  readonly estimate: PowerEstimateState
  readonly memory: FullLoadMemory
}

interface FullLoadMemory {
  modelW: number[]
  /** A heavier load that was known before a lighter one was accepted: it may come back. */
  heavier: PowerEstimateState | null
  /** What was known before the readings stood still. */
  varied: PowerEstimateState | null
}

/** What the board draws at full load at each clock, as the model has it and readings correct it, and how sure that is. */
export class FullLoadPower {
  readonly #tuning: ClockTuning
  readonly #memory: FullLoadMemory
  #estimate: PowerEstimate

  constructor(tuning: ClockTuning, state?: FullLoadPowerState) {
    this.#tuning = tuning
    this.#estimate = new PowerEstimate(tuning, state?.estimate)
    this.#memory = state?.memory ?? { modelW: [], heavier: null, varied: null }
  }

  get state(): FullLoadPowerState {
    return { estimate: this.#estimate.state, memory: this.#memory }
  }

  get estimate(): PowerEstimate {
    return this.#estimate
  }

  get modelW(): readonly number[] {
    return this.#memory.modelW
  }

  /** The most that the board can be thought to draw, W. */
  get highestW(): number {
    const { modelW } = this.#memory
    return modelW[modelW.length - 1]! * Math.max(1, this.#estimate.state.level)
  }

  /**
   * Highest state whose estimated power stays within a bound, and with its uncertainty within a second one; the lowest state
   * where none does.
   */
  highestWithin(boundW: number, confidence: number = this.#tuning.confidence, sureW: number = boundW): number {
    const { modelW } = this.#memory
    for (let index = modelW.length - 1; index > 0; index--) {
      const powerW = this.#estimate.power(modelW[index]!)
      if (powerW > boundW || powerW > sureW) continue
      if (confidence ** 2 * this.#estimate.varianceAhead(modelW[index]!) <= (sureW - powerW) ** 2) return index
    }
    return 0
  }

  /** Highest state whose power stays within a bound also where the slope from a state on is wrong by so many of its deviations. */
  highestFrom(from: number, boundW: number, confidence: number): number {
    const { modelW } = this.#memory
    for (let index = modelW.length - 1; index > 0; index--) {
      const beyondW = Math.max(0, modelW[index]! - modelW[from]!)
      const unsureW = confidence * Math.sqrt(this.#estimate.riseVariance(beyondW))
      if (this.#estimate.power(modelW[index]!) + unsureW <= boundW) return index
    }
    return 0
  }

  /**
   * @param predictedPowerW where it falls along the clock, the highest power up to there is taken
   * @param index of the clock whose power carries over as a ratio; null where nothing has run yet
   */
  setModel(predictedPowerW: ArrayLike<number>, index: number | null): void {
    const m = this.#memory
    const oldModelW = index === null ? undefined : m.modelW[index]
    let highestW = 0
    m.modelW = Array.from(predictedPowerW, (powerW) => {
      highestW = Math.max(highestW, powerW)
      return highestW
    })
    if (index === null || oldModelW === undefined) return
    this.recallHeavier()
    this.#estimate.transfer(oldModelW, m.modelW[index]!)
  }

  /** @returns the highest state whose modelled power is at most a cap */
  begin(capW: number): number {
    const { modelW } = this.#memory
    let index = modelW.length - 1
    while (index > 0 && modelW[index]! > capW) index--
    // What the prior says of the level, it says of the power near the cap.
    this.#estimate.begin(modelW[index]!)
    return index
  }

  /** Another full load draws so much where the model says `modelW`. */
  relearn(modelW: number, powerW: number): void {
    // A lighter one is remembered to have been heavier, where that was measured and not just the model's word.
    if (powerW < this.#estimate.power(modelW) && this.#estimate.measured) this.#memory.heavier ??= this.#estimate.copy()
    this.#estimate.relearn(modelW, powerW)
  }

  /** @returns whether a heavier load was known */
  recallHeavier(): boolean {
    const { heavier } = this.#memory
    if (heavier === null) return false
    this.#estimate = new PowerEstimate(this.#tuning, heavier)
    this.#memory.heavier = null
    return true
  }

  /** Readings vary: what they teach counts. */
  keep(): void {
    this.#memory.varied = this.#estimate.copy()
  }

  /** They stood still: what they taught since counts for nothing. */
  rollBack(): void {
    const { varied } = this.#memory
    if (varied !== null) this.#estimate = new PowerEstimate(this.#tuning, varied)
    this.#memory.varied = null
  }
}
