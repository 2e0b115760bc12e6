export {
  PublishedParameters,
  type PublishedPredictorOptions,
  type PublishedSelection,
} from './predictor/published-parameters.js'
export { loadPublishedParameters } from './predictor/load-published-parameters.js'
export { type PublishedPrediction, PublishedPredictor, publishedLayout } from './predictor/published-predictor.js'
export { PublishedBoardPredictor, type PublishedBoardOptions } from './predictor/published-board-predictor.js'
export type { PublishedSetId } from './predictor/published-set.js'
export { type AllMetrics, PctoDLPredictor, type PctoDLPredictorOptions } from './predictor/pctodl-predictor.js'
export {
  type PublishedSearchOptions,
  type PublishedSearchResult,
  type PublishedStep,
  publishedSearch,
} from './search/published-search.js'
export type { PublishedModel } from './search/published-model.js'
