import type { ClockTuning } from './clock-tuning.js'

const SURPRISE_SIGMAS = 3
/**
 * A move of the model's power by less than this share of it says nothing of the slope where firmware trims the clock: it does so when
 * power happens to be high, and what follows looks as if power hardly depended on the clock.
 */
const TELLING_MOVE = 0.03
/** Weight of the newest reading in where the power has been resting: some seconds of readings. */
const REST_WEIGHT = 0.01
/**
 * A one-sided cumulative sum (Page, Biometrika 41, 1954) of how many standard deviations readings lie above the estimate, each at most as
 * many as surprise and less by what is let pass: one that reaches the bound makes higher power than thought a fact. Whether lower power
 * is one, is not said by power alone. Two surprises do; of instant readings four that are 2 above do as well, of averages, which have most
 * of their second in common, not.
 */
const LET_PASS_SIGMAS = [2, 1] as const
const FACT_SIGMAS = [2, 4] as const
/** As far from the pivot as this share of it, a slope that is not the model's may be the model's again. */
const LOCAL = 0.25
/** Weight of the newest reading in what is learnt of a sensor's noise. */
const NOISE_WEIGHT = 0.02
/** Share of the prior's standard deviation below which the level counts as measured. */
const MEASURED_SHARE = 0.3
const LEVEL_RANGE = [0.25, 4] as const
const SLOPE_RANGE = [0.2, 5] as const

/**
 * How far a reading is that of full load at a known clock:
 *
 * - `full`: it is;
 * - `trimmed`: firmware may have moved the clock because of this very power, so that small moves say nothing of the slope;
 * - `bound`: the load may not all have been there, or the clock was a lower one: full load draws at least so much.
 */
export type ReadingOrigin = 'full' | 'trimmed' | 'bound'

export interface PowerEstimateState {
  pivotW: number
  /** Where the model's power has been resting, W. */
  restW: number
  level: number
  slope: number
  levelVariance: number
  covariance: number
  slopeVariance: number
  /** Per sensor: cumulative sum of what lies above the estimate, standard deviations. */
  above: [average: number, instant: number]
  /** Per sensor: mean square of readings minus estimate, W^2. */
  scatter: [average: number, instant: number]
}

/**
 * Full-load power of the board at each clock, as the model has it and readings correct it: a Kalman filter with two states,
 *
 *     board(m) = level pivot + slope (m - pivot)
 *
 * where m is the model's power and `pivot` one value of it. Level and slope drift as random walks. The variance it keeps is
 * what decides how far the controller trusts an extrapolation: a slope that was never seen makes a long jump careful.
 */
export class PowerEstimate {
  readonly #tuning: ClockTuning
  readonly state: PowerEstimateState

  constructor(tuning: ClockTuning, state?: PowerEstimateState) {
    this.#tuning = tuning
    const level = tuning.levelPriorPercent / 100
    const slope = tuning.slopePriorPercent / 100
    this.state = state ?? {
      pivotW: 1,
      restW: 1,
      level: 1,
      slope: 1,
      levelVariance: level * level,
      // A model that is too low is mostly also too flat.
      covariance: 0.5 * level * slope,
      slopeVariance: slope * slope,
      above: [0, 0],
      scatter: [0, 0],
    }
  }

  /** What is known now, to come back to. */
  copy(): PowerEstimateState {
    const s = this.state
    return { ...s, above: [s.above[0], s.above[1]], scatter: [s.scatter[0], s.scatter[1]] }
  }

  /** Whether readings say where the level is: the model's prior does not count. */
  get measured(): boolean {
    return Math.sqrt(this.state.levelVariance) < MEASURED_SHARE * (this.#tuning.levelPriorPercent / 100)
  }

  /** Estimated board power where the model says `modelW`, W. */
  power(modelW: number): number {
    return powerOf(this.state, modelW)
  }

  /** The model's power where the board is estimated to draw so much, W. */
  modelled(powerW: number): number {
    const { level, slope, pivotW } = this.state
    return pivotW + (powerW - level * pivotW) / slope
  }

  /** Variance of `power(modelW)`, W^2. */
  variance(modelW: number): number {
    const s = this.state
    const beyond = modelW - s.pivotW
    return (
      s.pivotW * s.pivotW * s.levelVariance +
      2 * s.pivotW * beyond * s.covariance +
      beyond * beyond * s.slopeVariance +
      (0.5 * beyond * this.#bend(beyond)) ** 2
    )
  }

  /**
   * The same of a state that the board is to go to, W^2: where its curve is steeper or flatter here than the model's, nobody knows
   * whether it comes back to the model's shape there.
   */
  varianceAhead(modelW: number): number {
    const { level, slope, pivotW } = this.state
    const beyond = modelW - pivotW
    return (
      this.variance(modelW) + (0.5 * beyond * (slope - level) * Math.min(1, Math.abs(beyond) / (LOCAL * pivotW))) ** 2
    )
  }

  /** Variance of what a state draws more than another that is higher by `beyondW` of the model, W^2. */
  riseVariance(beyondW: number): number {
    return beyondW * beyondW * (this.state.slopeVariance + (0.5 * this.#bend(beyondW)) ** 2)
  }

  /**
   * Standard deviation of the slope that this far from the pivot is another one: the relation is a line only nearby. As far away as
   * the pivot itself, nothing but the prior is known of it.
   */
  #bend(beyondW: number): number {
    return (this.#tuning.slopePriorPercent / 100) * Math.min(1, Math.abs(beyondW) / this.state.pivotW)
  }

  /** Let time pass: what was learnt grows old, but never less certain than nothing learnt. */
  age(durationMs: number): void {
    const s = this.state
    const t = this.#tuning
    const seconds = durationMs / 1000
    s.levelVariance = Math.min(
      (t.levelPriorPercent / 100) ** 2,
      s.levelVariance + (t.levelDriftPercent / 100) ** 2 * seconds,
    )
    s.slopeVariance = Math.min(
      (t.slopePriorPercent / 100) ** 2,
      s.slopeVariance + (t.slopeDriftPercent / 100) ** 2 * seconds,
    )
    const bound = 0.99 * Math.sqrt(s.levelVariance * s.slopeVariance)
    s.covariance = Math.min(bound, Math.max(-bound, s.covariance))
  }

  /**
   * Learn from one reading.
   *
   * @param sensor 0 the one-second average, 1 the instant reading
   * @param modelW the model's power over the same window as the reading, W
   * @param noiseW standard deviation that the reading has at least, W
   * @param timingW additional one while the window holds a clock change, W
   * @param origin how far the reading is that of full load at `modelW`. Default: as read
   */
  learn(
    sensor: 0 | 1,
    modelW: number,
    readingW: number,
    noiseW: number,
    timingW: number,
    origin: ReadingOrigin = 'full',
  ): void {
    const s = this.state
    const tellsOfSlope =
      origin === 'full' || (origin === 'trimmed' && Math.abs(modelW - s.restW) >= TELLING_MOVE * modelW)
    if (!tellsOfSlope) this.#centre(modelW)
    else if (origin === 'full' && Math.abs(modelW - s.pivotW) >= TELLING_MOVE * modelW) this.#move(modelW)
    s.restW += REST_WEIGHT * (modelW - s.restW)
    const error = readingW - this.power(modelW)
    // Real loads ripple; a sensor that scatters more than it should is trusted less.
    const noise = Math.max(noiseW * noiseW, s.scatter[sensor]) + timingW * timingW
    let variance = this.variance(modelW) + noise
    // Far below is no full load as known: what it is, power alone does not say.
    if (error < -SURPRISE_SIGMAS * Math.sqrt(variance)) return
    if (timingW === 0) {
      const square = Math.min(error * error, SURPRISE_SIGMAS ** 2 * variance)
      s.scatter[sensor] += NOISE_WEIGHT * (square - s.scatter[sensor])
    }
    const sigmas = Math.min(SURPRISE_SIGMAS, error / Math.sqrt(variance))
    s.above[sensor] = Math.max(0, s.above[sensor] + sigmas - LET_PASS_SIGMAS[sensor])
    if (s.above[sensor] >= FACT_SIGMAS[sensor]) {
      s.above[sensor] = 0
      this.forgetLevel(error)
      variance = this.variance(modelW) + noise
    }
    const beyond = modelW - s.pivotW
    const levelGain = (s.levelVariance * s.pivotW + s.covariance * beyond) / variance
    const slopeGain = (s.covariance * s.pivotW + s.slopeVariance * beyond) / variance
    s.level = clamp(s.level + levelGain * error, LEVEL_RANGE)
    // What is at least so much may be any more: nothing is surer than before.
    if (origin === 'bound') return
    s.levelVariance = Math.max(1e-9, s.levelVariance - levelGain * levelGain * variance)
    s.covariance -= levelGain * slopeGain * variance
    if (tellsOfSlope) {
      s.slope = clamp(s.slope + slopeGain * error, SLOPE_RANGE)
      s.slopeVariance = Math.max(1e-9, s.slopeVariance - slopeGain * slopeGain * variance)
    }
  }

  /** Say the same of another pivot: what is read there is level alone, and teaches as much of the slope as level and slope have in common. */
  #centre(modelW: number): void {
    const s = this.state
    const power = this.power(modelW)
    const variance = this.variance(modelW)
    s.covariance = (s.pivotW * s.covariance + (modelW - s.pivotW) * s.slopeVariance) / modelW
    s.level = clamp(power / modelW, LEVEL_RANGE)
    s.levelVariance = variance / (modelW * modelW)
    s.pivotW = modelW
  }

  /** The board has come to run elsewhere on its curve, where the slope may be another one. */
  #move(modelW: number): void {
    const bend = this.#bend(modelW - this.state.pivotW)
    this.#centre(modelW)
    this.state.slopeVariance += bend * bend
  }

  /** Nothing has run yet: the level is the model's word of its power at a clock. */
  begin(modelW: number): void {
    this.state.pivotW = modelW
    this.state.restW = modelW
  }

  /** The load itself has changed by so many watts: the level is as uncertain as that, the slope stays. */
  forgetLevel(errorW: number): void {
    this.state.levelVariance += (errorW / this.state.pivotW) ** 2
  }

  /** It may be another load: the level is no surer than of new tenants. */
  doubtLevel(): void {
    const change = (this.#tuning.plantChangePercent / 100) ** 2
    this.state.levelVariance = Math.max(this.state.levelVariance, change)
  }

  /** Another load: the level is what is read, and no surer than of new tenants; the slope stays. */
  relearn(modelW: number, readingW: number): void {
    const s = this.state
    s.level = clamp(s.level + (readingW - this.power(modelW)) / s.pivotW, LEVEL_RANGE)
    s.levelVariance += (this.#tuning.plantChangePercent / 100) ** 2
  }

  /**
   * The tenants change, and with them the model's power at the present clock. The board's ratio to the model carries over,
   * with less certainty.
   */
  transfer(oldModelW: number, newModelW: number): void {
    const s = this.state
    const change = this.#tuning.plantChangePercent / 100
    this.#centre(oldModelW)
    s.levelVariance += change * change
    s.slopeVariance += 4 * change * change
    s.pivotW = newModelW
    s.restW = newModelW
    this.age(0)
  }
}

/** Board power where the model says `modelW`, as a state of knowledge has it, W. */
export function powerOf({ level, slope, pivotW }: PowerEstimateState, modelW: number): number {
  // A line that is right nearby may cross zero far away.
  return Math.max(LEVEL_RANGE[0] * modelW, level * pivotW + slope * (modelW - pivotW))
}

function clamp(value: number, [low, high]: readonly [number, number]): number {
  return Math.min(high, Math.max(low, value))
}
