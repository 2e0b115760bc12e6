export { ClockController, type ClockControllerState } from './clock-controller.js'
export type {
  BoardSeen,
  ClockAction,
  ClockHypothesis,
  ClockStatus,
  SensorHypothesis,
} from './clock-action.js'
export type { ClockObservation } from './clock-observation.js'
export { type ClockControllerOptions, type ClockMechanism, clockMechanisms } from './clock-options.js'
export {
  MemoryClockControl,
  type MemoryClockObservation,
  type MemoryClockState,
} from './memory-clock-control.js'
