export type { Prediction, Predictor, TenantPrediction } from './predictor.js'
export { PerfModel } from './perf-model.js'
export { MAX_BATCH_SIZE } from './tenant-coefficients.js'
export { type PredictionBuffer, predictionBuffer } from './prediction-buffer.js'
export { type BatchInput, type BatchOutput, batchOutput } from './prediction-batch.js'
export type { Domain, OutsideProfile } from './domain.js'
export { loadPerfModel, shippedParameters } from './shipped-parameters.js'
export { isReferenceFolder, modelOf, parameterFile } from './parameter-folder.js'
export { type AllMetrics, PctoDLPredictor, type PctoDLPredictorOptions } from './pctodl-predictor.js'
export {
  type BoardParameters,
  type ErrorSummary,
  type FittedProfile,
  type NetworkParameters,
  PARAMETER_SCHEMA_VERSION,
  ParameterVersionError,
  type PerfModelParameters,
  parsePerfModelParameters,
  type Spread,
} from './parameters.js'
export { type FitOptions, type FitReport, type FittedModel, fitPerfModel, fitSteps } from './fit/fit-perf-model.js'
export type { FittedParameter } from './fit/fit-rows.js'
export type { RowPrediction } from './fit/fit-report.js'
export { type RefitOptions, refit } from './fit/refit.js'
export {
  type LeastSquaresProblem,
  type LevenbergMarquardtOptions,
  type LevenbergMarquardtResult,
  levenbergMarquardt,
} from './levenberg-marquardt.js'
export { loadReferenceParameters } from './reference/load-reference-parameters.js'
export {
  ReferenceParameters,
  type ReferencePredictorOptions,
  type ReferenceSelection,
} from './reference/reference-parameters.js'
export { type ReferencePrediction, ReferencePredictor, referenceLayout } from './reference/reference-predictor.js'
export { ReferenceBoardPredictor, type ReferenceBoardOptions } from './reference/reference-board-predictor.js'
export type { ReferenceSetId } from './reference/reference-set.js'
export { ParameterFileError } from './reference/parameter-file-error.js'
