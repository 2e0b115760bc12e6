import type { ClockTuning } from './clock-tuning.js'

const SURPRISE_SIGMAS = 3
/** Readings in a row that make a surprise a fact: few when power is higher than thought, many when it is lower. */
const SURPRISES_ABOVE = 2
const SURPRISES_BELOW = 8
/** Weight of the newest reading in what is learnt of a sensor's noise. */
const NOISE_WEIGHT = 0.02
const LEVEL_RANGE = [0.5, 2] as const
const SLOPE_RANGE = [0.3, 2.5] as const

export interface BiasState {
  pivotW: number
  level: number
  slope: number
  levelVariance: number
  covariance: number
  slopeVariance: number
  /** Per sensor: consecutive surprises above (positive) or below (negative) the estimate. */
  surprises: [average: number, instant: number]
  /** Per sensor: mean square of readings minus estimate, W^2. */
  scatter: [average: number, instant: number]
}

/**
 * How the board's power relates to the model's, learnt from readings: a Kalman filter with two states,
 *
 *     board(m) = level pivot + slope (m - pivot)
 *
 * where m is the model's power and `pivot` one value of it. Level and slope drift as random walks. The variance it keeps is
 * what decides how far the controller trusts an extrapolation: a slope that was never seen makes a long jump careful.
 */
export class BiasEstimator {
  readonly #tuning: ClockTuning
  readonly state: BiasState

  constructor(tuning: ClockTuning, state?: BiasState) {
    this.#tuning = tuning
    const level = tuning.levelPriorPercent / 100
    const slope = tuning.slopePriorPercent / 100
    this.state = state ?? {
      pivotW: 1,
      level: 1,
      slope: 1,
      levelVariance: level * level,
      // A model that is too low is mostly also too flat.
      covariance: 0.5 * level * slope,
      slopeVariance: slope * slope,
      surprises: [0, 0],
      scatter: [0, 0],
    }
  }

  /** What is known now, to come back to. */
  copy(): BiasState {
    const s = this.state
    return { ...s, surprises: [s.surprises[0], s.surprises[1]], scatter: [s.scatter[0], s.scatter[1]] }
  }

  /** Estimated board power where the model says `modelW`, W. */
  power(modelW: number): number {
    return powerOf(this.state, modelW)
  }

  /** Variance of `power(modelW)`, W^2. */
  variance(modelW: number): number {
    const s = this.state
    const beyond = modelW - s.pivotW
    return (
      s.pivotW * s.pivotW * s.levelVariance + 2 * s.pivotW * beyond * s.covariance + beyond * beyond * s.slopeVariance
    )
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
   */
  learn(sensor: 0 | 1, modelW: number, readingW: number, noiseW: number, timingW: number): void {
    const s = this.state
    const error = readingW - this.power(modelW)
    // Real loads ripple; a sensor that scatters more than it should is trusted less.
    const noise = Math.max(noiseW * noiseW, s.scatter[sensor]) + timingW * timingW
    let variance = this.variance(modelW) + noise
    if (timingW === 0) {
      const square = Math.min(error * error, SURPRISE_SIGMAS ** 2 * variance)
      s.scatter[sensor] += NOISE_WEIGHT * (square - s.scatter[sensor])
    }
    const surprise = Math.abs(error) > SURPRISE_SIGMAS * Math.sqrt(variance) ? Math.sign(error) : 0
    const before = s.surprises[sensor]
    s.surprises[sensor] = surprise === 0 ? 0 : Math.sign(before) === surprise ? before + surprise : surprise
    if (s.surprises[sensor] >= SURPRISES_ABOVE || s.surprises[sensor] <= -SURPRISES_BELOW) {
      // The load itself has changed: forget the level, keep the slope.
      s.surprises[sensor] = 0
      s.levelVariance += (error / s.pivotW) ** 2
      variance = this.variance(modelW) + noise
    }
    const beyond = modelW - s.pivotW
    const levelGain = (s.levelVariance * s.pivotW + s.covariance * beyond) / variance
    const slopeGain = (s.covariance * s.pivotW + s.slopeVariance * beyond) / variance
    s.level = clamp(s.level + levelGain * error, LEVEL_RANGE)
    s.slope = clamp(s.slope + slopeGain * error, SLOPE_RANGE)
    s.levelVariance = Math.max(1e-9, s.levelVariance - levelGain * levelGain * variance)
    s.covariance -= levelGain * slopeGain * variance
    s.slopeVariance = Math.max(1e-9, s.slopeVariance - slopeGain * slopeGain * variance)
  }

  /**
   * The tenants change, and with them the model's power at the present clock. The board's ratio to the model carries over,
   * with less certainty.
   */
  transfer(oldModelW: number, newModelW: number): void {
    const s = this.state
    const power = this.power(oldModelW)
    const variance = this.variance(oldModelW)
    const covariance = s.pivotW * s.covariance + (oldModelW - s.pivotW) * s.slopeVariance
    const change = this.#tuning.plantChangePercent / 100
    s.level = clamp(power / oldModelW, LEVEL_RANGE)
    s.levelVariance = variance / (oldModelW * oldModelW) + change * change
    s.covariance = covariance / oldModelW
    s.slopeVariance += 4 * change * change
    s.pivotW = newModelW
    this.age(0)
  }
}

/** Board power where the model says `modelW`, as a state of knowledge has it, W. */
export function powerOf({ level, slope, pivotW }: BiasState, modelW: number): number {
  return level * pivotW + slope * (modelW - pivotW)
}

function clamp(value: number, [low, high]: readonly [number, number]): number {
  return Math.min(high, Math.max(low, value))
}
