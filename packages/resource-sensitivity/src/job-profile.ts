// What a profile is.

export { InputFileError, LimitUnavailableError, ProfiledRunError } from './errors.js'
// What was published.
export { parseSynergyTables } from './input-files.js'
export { searchCpus } from './profile/cpu-search.js'
export { exampleProfiles, type JobProfile, throughputAt } from './profile/job-profile.js'
// How one is found.
export { epochWithCache, profileJob } from './profile/profile-job.js'
export {
  minDemand,
  parseSensitivityMatrix,
  profileOfMatrix,
  type SensitivityMatrix,
} from './profile/sensitivity-matrix.js'
