export {
  type ClockAction,
  ClockController,
  type ClockControllerState,
  type ClockStatus,
} from './clock-controller.js'
export type { ClockObservation } from './board-estimate.js'
export { type ClockControllerOptions, type ClockTuning, defaultClockTuning } from './clock-tuning.js'
export { ReferenceController, referenceGuard } from './reference-controller.js'
export {
  type ReferencePowerLaw,
  referenceFeedForward,
  referencePower,
  referenceSlope,
} from './reference-power-law.js'
