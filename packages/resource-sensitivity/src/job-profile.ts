// What a profile is.

export { InputFileError, LimitUnavailableError, ProfiledRunError } from './errors.js'
export { epochWithCache } from './profile/cache-model.js'
export { searchCpus } from './profile/cpu-search.js'
export { type JobProfile, throughputAt } from './profile/job-profile.js'
export { exampleProfiles, modelledProfile } from './profile/modelled-profile.js'
// How one is found.
export { profileJob } from './profile/profile-job.js'
export {
  minDemand,
  parseSensitivityMatrix,
  profileOfMatrix,
  type SensitivityMatrix,
} from './profile/sensitivity-matrix.js'
// What was published.
export { parseSynergyTables } from './profile/synergy-tables.js'
