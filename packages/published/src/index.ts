export { loadPublishedParameters } from './predictor/load-published-parameters.js'
export { PublishedPredictor } from './predictor/published-predictor.js'
export { PctoDLPredictor } from './predictor/pctodl-predictor.js'
export { publishedSearch } from './search/published-search.js'
