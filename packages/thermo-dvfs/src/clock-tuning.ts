import { type GpuSpec, InvalidInputError } from '@pctodl/platform'

/** Every figure that shapes the controller. Percentages of the cap unless said otherwise. */
export interface ClockTuning {
  /** Estimated power that a clock may have to be raised to. Lower if the one-second average proves noisy. */
  readonly targetPercent: number
  /**
   * The same where the board's own power limit holds the cap: so near that its firmware has little to do, and no throughput is
   * left beside the limit alone.
   */
  readonly heldTargetPercent: number
  /** Standard deviations of the estimate that a chosen clock must leave below `surePercent`. */
  readonly confidence: number
  /**
   * What a clock may draw where the estimate is wrong by `confidence` of its standard deviations: between the target and the 1 %
   * by which a cap is judged, so that what is known well may go up to the target. The present clock is lowered where it is
   * estimated to draw more than this.
   */
  readonly surePercent: number
  /** Least time between a change and a raise, ms. Longer than the sensor's window. */
  readonly raiseDwellMs: number
  /** The same where instant readings are known to show a change at once. */
  readonly promptDwellMs: number
  /** Excess of the one-second average at which the clock is lowered whatever the estimate says. */
  readonly guardPercent: number
  /** The same of the mean of a second of instant readings, which sees the board only part of the time and scatters for it. */
  readonly sampledGuardPercent: number
  /** A state that proved too high is not tried again for this long, ms; doubles each time, up to 64 times that. */
  readonly retryAfterMs: number

  /** Standard deviation of the model's level error before anything was measured, percent of the model. */
  readonly levelPriorPercent: number
  /** Standard deviation of the model's slope error before anything was measured, percent of the model. */
  readonly slopePriorPercent: number
  /** Additional level uncertainty when the tenants change, percent of the model. */
  readonly plantChangePercent: number
  /** Random walk of the level, percent of the model per root second. */
  readonly levelDriftPercent: number
  /** Random walk of the slope, percent of the model per root second. */
  readonly slopeDriftPercent: number
  /** Noise of a one-second average; larger than its true noise, for successive averages overlap. */
  readonly averageNoisePercent: number
  /** Noise of an instant or part-time reading. */
  readonly instantNoisePercent: number

  /** Time without a usable reading after which the controller calls itself blind and stops raising, ms. */
  readonly blindAfterMs: number
  /** Time without a usable reading after which it steps down, ms. */
  readonly blindStepDownAfterMs: number
  /** Estimated power down to which it steps while blind. */
  readonly blindPowerPercent: number
  /** Time after which lower power than known is taken for a lighter load where nothing tells what tenants complete, ms. */
  readonly underloadHoldMs: number
}

export const defaultClockTuning: ClockTuning = {
  targetPercent: 99.7,
  heldTargetPercent: 99.9,
  confidence: 1.5,
  surePercent: 100.1,
  raiseDwellMs: 1500,
  promptDwellMs: 500,
  guardPercent: 0.7,
  sampledGuardPercent: 1.5,
  retryAfterMs: 5000,
  levelPriorPercent: 15,
  slopePriorPercent: 30,
  plantChangePercent: 4,
  levelDriftPercent: 0.3,
  slopeDriftPercent: 0.5,
  averageNoisePercent: 1,
  instantNoisePercent: 2,
  blindAfterMs: 1500,
  blindStepDownAfterMs: 3000,
  blindPowerPercent: 80,
  underloadHoldMs: 10_000,
}

export interface ClockControllerOptions {
  /** Supported SM clocks at the memory clock in use, MHz, ascending. */
  readonly smClocksMhz: readonly number[]
  /** How the board forms its plain power reading; `GpuSpec.powerReading`. */
  readonly reading: GpuSpec['powerReading']
  /**
   * Gain error of the power sensor to allow for, percent. No controller can see it; the cap is lowered by as much.
   * Default 0: the cap is meant in the sensor's watts.
   */
  readonly sensorTolerancePercent?: number
  readonly tuning?: Partial<ClockTuning>
}

/** @throws InvalidInputError naming the option */
export function assertClockControllerOptions(options: ClockControllerOptions): void {
  const { smClocksMhz, reading, sensorTolerancePercent = 0, tuning = {} } = options
  if (smClocksMhz.length === 0) throw new InvalidInputError('smClocksMhz', [], 'at least one clock')
  smClocksMhz.forEach((clock, i) => {
    if (!(Number.isFinite(clock) && clock > (smClocksMhz[i - 1] ?? 0))) {
      throw new InvalidInputError(`smClocksMhz[${i}]`, clock, 'positive clocks in ascending order')
    }
  })
  if (reading !== 'one-second-average' && reading !== 'part-time') {
    throw new InvalidInputError('reading', reading, "'one-second-average' or 'part-time'")
  }
  if (!(sensorTolerancePercent >= 0 && sensorTolerancePercent < 50)) {
    throw new InvalidInputError('sensorTolerancePercent', sensorTolerancePercent, 'a percentage from 0 to below 50')
  }
  for (const [name, value] of Object.entries(tuning)) {
    if (!(name in defaultClockTuning)) {
      throw new InvalidInputError(`tuning.${name}`, value, `one of ${Object.keys(defaultClockTuning).join(', ')}`)
    }
    if (!(Number.isFinite(value) && value >= 0)) {
      throw new InvalidInputError(`tuning.${name}`, value, 'a number of at least 0')
    }
  }
}
