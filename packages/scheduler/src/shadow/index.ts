export { type Candidate, type CandidateOptions, candidatesNear, keyOf } from './candidates.js'
export { expectedImprovement, probabilityWithin } from './expected-improvement.js'
export { GaussianProcess, type GaussianProcessOptions } from './gaussian-process.js'
export {
  allowedBatches,
  batchNeighbours,
  batchPool,
  mergeSmallest,
  shareMoves,
  splitLargest,
} from './neighbourhood.js'
export { publishedThreshold } from './published-threshold.js'
export {
  type Correction,
  featuresOf,
  type Measurement,
  ResidualModel,
  type ResidualModelOptions,
} from './residual-model.js'
export { restartCostSamples, restartedCount } from './restart-cost.js'
export { type ShadowContext, ShadowOptimizer, type ShadowOptions } from './shadow-optimizer.js'
export { type SearchQuestion, ShadowSearch, type Suggestion } from './shadow-search.js'
