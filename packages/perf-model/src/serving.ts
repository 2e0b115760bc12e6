export { BatchCostTable, batchSizesUpTo } from './serving/batch-costs.js'
export { BatchQueue } from './serving/batch-queue.js'
export { type ServicePrediction, ServingModel, type ServingPrediction } from './serving/serving-model.js'
