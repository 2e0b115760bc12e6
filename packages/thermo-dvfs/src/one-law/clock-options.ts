import { InvalidInputError } from '@pctodl/platform'
import { assertClockControllerOptions, type ClockControllerOptions } from '../clock-tuning.js'

/** Parts of the control that can be left out, to measure what each is worth. */
export const clockMechanisms = [
  'offset',
  'delay',
  'energy-window',
  'board-limit',
  'low-belief',
  'back-off',
  'cross-check',
] as const
export type ClockMechanism = (typeof clockMechanisms)[number]

/** Those of `ClockController`, whose tuning this law does not have. */
export interface OneLawOptions extends Omit<ClockControllerOptions, 'tuning'> {
  /** Mechanisms to leave out, for an ablation. Default none. */
  readonly without?: readonly ClockMechanism[]
}

/** @throws InvalidInputError naming the option */
export function assertOneLawOptions(options: OneLawOptions): void {
  assertClockControllerOptions(options)
  for (const name of options.without ?? []) {
    if (!clockMechanisms.includes(name)) {
      throw new InvalidInputError('without', name, `some of ${clockMechanisms.join(', ')}`)
    }
  }
}
