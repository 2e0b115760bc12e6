export type { Prediction, PredictionQuantiles, Predictor, TenantPrediction } from './predictor.js'
export { PerfModel } from './perf-model.js'
export { MAX_BATCH_SIZE } from './tenant-coefficients.js'
export { type BatchInput, type BatchOutput, batchOutput } from './prediction-batch.js'
export { type Domain, describeOutside, type OutsideProfile } from './domain.js'
export { loadPerfModel, shippedParameters } from './shipped-parameters.js'
export {
  type BoardParameters,
  type NetworkParameters,
  ParameterVersionError,
  type PerfModelParameters,
  parsePerfModelParameters,
} from './parameters.js'
export { type FitOptions, type FitReport, type FittedModel, fitPerfModel, fitSteps } from './fit/fit-perf-model.js'
export type { RowPrediction } from './fit/fit-report.js'
export { type RefitOptions, refit } from './fit/refit.js'
export { addNetwork, type AddNetworkOptions } from './fit/add-network.js'
