import { type GpuSpec, InvalidInputError } from '@pctodl/platform'
import type { ClockObservation } from './clock-step.js'

/** Parts of the control that can be switched off, to measure the effect of each. */
export const clockMechanisms = [
  'offset',
  'delay',
  'energy-window',
  'board-limit',
  'low-belief',
  'back-off',
  'cross-check',
  'blind-descent',
] as const
export type ClockMechanism = (typeof clockMechanisms)[number]

export interface ClockControllerOptions {
  /** Supported SM clocks at the memory clock in use, MHz, ascending. */
  readonly smClocksMhz: readonly number[]
  /** How the board computes its plain power reading, from `GpuSpec.powerReading`. */
  readonly reading: GpuSpec['powerReading']
  /**
   * Gain error of the power sensor to allow for, percent. No controller can detect it, so the cap is lowered by this
   * percentage. Default 0: the cap is in the sensor's watts.
   */
  readonly sensorTolerancePercent?: number
  /** Mechanisms to switch off, for an ablation. Default none. */
  readonly without?: readonly ClockMechanism[]
}

/** @throws InvalidInputError that names the option */
export function assertClockOptions(options: ClockControllerOptions): void {
  const { smClocksMhz, reading, sensorTolerancePercent = 0, without = [] } = options
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
  for (const name of without) {
    if (!clockMechanisms.includes(name)) {
      throw new InvalidInputError('without', name, `some of ${clockMechanisms.join(', ')}`)
    }
  }
}

/**
 * Check the model's power.
 *
 * @throws InvalidInputError unless there is one finite positive power for each clock
 */
export function assertPlant(predictedPowerW: ArrayLike<number>, clocks: number): void {
  if (predictedPowerW.length !== clocks) {
    throw new InvalidInputError('predictedPowerW.length', predictedPowerW.length, `${clocks}, one power for each clock`)
  }
  for (let i = 0; i < clocks; i++) {
    const powerW = predictedPowerW[i]!
    if (!(powerW > 0 && Number.isFinite(powerW))) {
      throw new InvalidInputError(`predictedPowerW[${i}]`, powerW, 'a positive number of watts')
    }
  }
}

/**
 * Check the cap and the time of an observation.
 *
 * @param lastMs time of the previous step; null in the first step
 * @throws InvalidInputError for an impossible cap or time
 */
export function assertObservation({ timeMs, powerCapW }: ClockObservation, lastMs: number | null): void {
  if (!(powerCapW > 0 && Number.isFinite(powerCapW))) {
    throw new InvalidInputError('powerCapW', powerCapW, 'a positive number of watts')
  }
  if (!Number.isFinite(timeMs) || (lastMs !== null && timeMs < lastMs)) {
    const remedy = lastMs === null ? 'a number of milliseconds' : `a time not before the last step's (${lastMs} ms)`
    throw new InvalidInputError('timeMs', timeMs, remedy)
  }
}
