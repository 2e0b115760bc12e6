export { fitPublishedLaw } from './fit-published-law.js'
export { PublishedController, publishedGuard } from './published-controller.js'
export { PublishedPid, publishedPidGains } from './published-pid.js'
export { publishedFeedForward, publishedPower, publishedSlope } from './published-power-law.js'
