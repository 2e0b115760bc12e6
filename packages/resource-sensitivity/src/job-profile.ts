// What a profile is.

export { InputFileError, LimitUnavailableError, ProfiledRunError } from './errors.js'
export { parseJsonAs } from './json-input.js'
export { type CacheModelInput, type CacheModelResult, epochWithCache } from './profile/cache-model.js'
export {
  type CpuSearchOptions,
  type CpuSearchResult,
  type CurveEstimate,
  type CurvePoint,
  searchCpus,
  ThroughputCurve,
} from './profile/cpu-search.js'
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
export { exampleProfiles, type ModelledRates, modelledProfile } from './profile/modelled-profile.js'
// How one is found.
export { buildMatrix, type MatrixInput, type ProfileOptions, profileJob } from './profile/profile-job.js'
export {
  parseReportFile,
  parseReportLines,
  type RunReport,
  type SeriesMean,
  seriesMean,
  WARM_UP_ITERATIONS,
} from './profile/run-report.js'
export {
  matrixAxes,
  minDemand,
  parseSensitivityMatrix,
  profileOfMatrix,
  type SensitivityMatrix,
  type SensitivityPoint,
} from './profile/sensitivity-matrix.js'
// What was published.
export { parseSynergyTables, synergyModels } from './profile/synergy-tables.js'
