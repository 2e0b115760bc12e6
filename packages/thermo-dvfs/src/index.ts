export { ClockController } from './clock-controller.js'
export type { ClockAction, ClockObservation } from './clock-step.js'
export { type ClockControllerOptions, type ClockMechanism, clockMechanisms } from './clock-options.js'
