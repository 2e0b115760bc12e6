// Arrivals
export { type ArrivalProcess, arrivalTimes, type ArrivalTimesOptions } from './arrivals/arrival-process.js'
export { constantArrivals, type ConstantArrivalsOptions } from './arrivals/constant-arrivals.js'
export { poissonArrivals, type PoissonArrivalsOptions } from './arrivals/poisson-arrivals.js'
export { gammaArrivals, type GammaArrivalsOptions } from './arrivals/gamma-arrivals.js'
export { logNormalArrivals, type LogNormalArrivalsOptions } from './arrivals/log-normal-arrivals.js'
export {
  markovModulatedArrivals,
  type MarkovModulatedArrivalsOptions,
  type TrafficState,
} from './arrivals/markov-modulated-arrivals.js'
export { diurnalArrivals, type DiurnalArrivalsOptions } from './arrivals/diurnal-arrivals.js'
export { replayedTimes, type ReplayedTimesOptions } from './arrivals/replayed-times.js'
export { replayedRates, type ReplayedRatesOptions } from './arrivals/replayed-rates.js'
export { type During, during, faster, superposed, thinned } from './arrivals/changed-arrivals.js'

// Load
export type { Query, SystemUnderTest } from './load/system-under-test.js'
export type { LoadOptions, LoadResult, Scenario } from './load/load-result.js'
export { serverLoad, type ServerLoadOptions } from './load/server-load.js'
export { offlineLoad, type OfflineLoadOptions } from './load/offline-load.js'
export { multiStreamLoad, singleStreamLoad, type StreamLoadOptions, type StreamResult } from './load/stream-load.js'
export { percentileWithConfidence, queriesNeeded } from './load/early-stopping.js'
export { type HighestRate, highestRate, type HighestRateOptions } from './load/highest-rate.js'

// Reports
export { type LatencyQuantiles, type ServiceReport, serviceReport } from './load/latency-report.js'
