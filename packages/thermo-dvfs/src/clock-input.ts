import { InvalidInputError } from '@pctodl/platform'
import type { ClockObservation } from './clock-observation.js'

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
