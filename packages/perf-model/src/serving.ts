export { type BatchCosts, BatchCostTable, batchSizesUpTo } from './serving/batch-costs.js'
export { BatchQueue, type BatchQueueInput } from './serving/batch-queue.js'
export {
  type ServicePrediction,
  ServingModel,
  type ServingModelOptions,
  type ServingPrediction,
} from './serving/serving-model.js'
