// What a profile is.
export {
  assertJobProfile,
  type GpuPoint,
  type JobProfile,
  type ModelClass,
  modelClasses,
  type PerGpuShare,
  tableAt,
  throughputAt,
} from './profile/job-profile.js'
export { exampleProfiles, modelledProfile, type ModelledRates } from './profile/modelled-profile.js'
export {
  leastDemand,
  matrixAxes,
  parseSensitivityMatrix,
  profileOfMatrix,
  type SensitivityMatrix,
  type SensitivityPoint,
} from './profile/sensitivity-matrix.js'
export { buildMatrix, type MatrixInput } from './profile/build-matrix.js'

// How one is found.
export { profileJob, type ProfileOptions } from './search/profile-job.js'
export { type CpuSearchOptions, type CpuSearchResult, searchCpus } from './search/cpu-search.js'
export { type CurveEstimate, type CurvePoint, ThroughputCurve } from './search/throughput-curve.js'
export { type CacheModelInput, type CacheModelResult, epochWithCache } from './search/cache-model.js'
export { type SeriesMean, seriesMean } from './search/batch-means.js'
export { parseReportFile, parseReportLines, type RunReport, WARM_UP_ITERATIONS } from './search/run-report.js'

// What was published.
export { parseSynergyTables, synergyModels } from './profile/synergy-tables.js'
export { publishedSweep, type PublishedSweepPoint } from './published/published-sweep.js'
export { parsePublishedProfile, type PublishedProfilePoint } from './published/published-profile.js'

export { parseJsonAs } from './json-input.js'
export { InputFileError, LimitUnavailableError, ProfiledRunError } from './errors.js'
