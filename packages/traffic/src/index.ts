// Arrivals
export { type ArrivalProcess, arrivalTimes } from './arrivals/arrival-process.js'
export { constantArrivals } from './arrivals/constant-arrivals.js'
export { poissonArrivals } from './arrivals/poisson-arrivals.js'
export { gammaArrivals } from './arrivals/gamma-arrivals.js'
export { logNormalArrivals } from './arrivals/log-normal-arrivals.js'
export { markovModulatedArrivals } from './arrivals/markov-modulated-arrivals.js'
export { diurnalArrivals } from './arrivals/diurnal-arrivals.js'
export { replayedTimes } from './arrivals/replayed-times.js'
export { replayedRates } from './arrivals/replayed-rates.js'
export { during, faster, superposed, thinned } from './arrivals/changed-arrivals.js'

// Load
export type { SystemUnderTest } from './load/system-under-test.js'
export { serverLoad } from './load/server-load.js'
export { queriesNeeded } from './load/early-stopping.js'
export { highestRate } from './load/highest-rate.js'

// Reports
export { type ServiceReport, serviceReport } from './load/latency-report.js'
