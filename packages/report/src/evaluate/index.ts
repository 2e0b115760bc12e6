export { type RunLabels, recordOfEvents } from '../record/record-of-events.js'
export { type CapFigures, type CapPhases, capPhases, START_UP_MS } from './cap-phases.js'
export type { CapStepResponse } from './cap-step-response.js'
export { type EvaluateOptions, type Evaluation, evaluate, type StretchEvaluation } from './evaluate.js'
export { movingAverageW } from './moving-average.js'
export {
  EXCESS_TOLERANCE,
  type PowerMetrics,
  powerMetrics,
  SETTLING_BAND,
  START_UP_TOLERANCE,
  STEADY_TOLERANCE,
} from './power-metrics.js'
export { bestPowerSource, type PowerSeries, type PowerSignal, type PowerSource, powerSignal } from './power-signal.js'
export type { Ripple } from './ripple.js'
export { type Actuation, type ActuationKind, RunRecorder, type RunRecording } from './run-recording.js'
export { type SettlingBand, type SettlingTime, settlingTimes } from './settling-time.js'
export { type SteadyDefinition, steadyMask } from './steady-mask.js'
