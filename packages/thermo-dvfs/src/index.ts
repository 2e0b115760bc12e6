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
export { fitReferenceLaw } from './fit-reference-law.js'
export { ReferencePid, type ReferencePidGains, referencePidGains } from './reference-pid.js'
export {
  MemoryClockControl,
  type MemoryClockObservation,
  type MemoryClockOptions,
  type MemoryClockState,
} from './memory-clock-control.js'
