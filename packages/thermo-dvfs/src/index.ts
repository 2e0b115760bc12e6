export { ClockController, type ClockControllerState } from './clock-controller.js'
export type { BoardSeen, ClockAction, ClockStatus } from './clock-action.js'
export type { ClockObservation } from './clock-observation.js'
export type { LoadHypothesis } from './load-belief.js'
export type { ClockHypothesis } from './clock-belief.js'
export type { SensorHypothesis } from './sensor-belief.js'
export { OneLawController } from './one-law/clock-controller.js'
export { type ClockMechanism, clockMechanisms } from './one-law/clock-options.js'
export { type ClockControllerOptions, type ClockTuning, defaultClockTuning } from './clock-tuning.js'
export { PublishedController, publishedGuard } from './published-controller.js'
export {
  type PublishedPowerLaw,
  publishedFeedForward,
  publishedPower,
  publishedSlope,
} from './published-power-law.js'
export { fitPublishedLaw } from './fit-published-law.js'
export { PublishedPid, type PublishedPidGains, publishedPidGains } from './published-pid.js'
export {
  MemoryClockControl,
  type MemoryClockObservation,
  type MemoryClockOptions,
  type MemoryClockState,
} from './memory-clock-control.js'
