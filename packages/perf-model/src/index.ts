export type { Prediction, Predictor, TenantPrediction } from './predictor.js'
export { MAX_BATCH_SIZE, PerfModel, type PredictionBuffer, predictionBuffer } from './perf-model.js'
export { loadPerfModel, shippedParameters } from './shipped-parameters.js'
export {
  type BoardParameters,
  type ErrorSummary,
  type NetworkParameters,
  PARAMETER_SCHEMA_VERSION,
  ParameterVersionError,
  type PerfModelParameters,
  parsePerfModelParameters,
} from './parameters.js'
export { type FitOptions, type FitReport, fitPerfModel } from './fit/fit-perf-model.js'
export {
  type LeastSquaresProblem,
  type LevenbergMarquardtOptions,
  type LevenbergMarquardtResult,
  levenbergMarquardt,
} from './levenberg-marquardt.js'
