export { fitPublishedLaw } from './fit-published-law.js'
export { PublishedController, publishedGuard } from './published-controller.js'
export { PublishedPid, type PublishedPidGains, publishedPidGains } from './published-pid.js'
export {
  type PublishedPowerLaw,
  publishedFeedForward,
  publishedPower,
  publishedSlope,
} from './published-power-law.js'
export {
  allowedBatches,
  batchNeighbours,
  batchPool,
  mergeSmallest,
  publishedThreshold,
  shareMoves,
  splitLargest,
} from './published-shadow.js'
