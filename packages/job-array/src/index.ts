export { workFolder, readNote } from './work-folder.js'
export type { Job, JobExecutor, JobOutcome, RunJobsOptions } from './job-array.js'
export { LocalExecutor, type LocalExecutorOptions } from './local-executor.js'
export { type SlurmNodeChange, SlurmNodes, type SlurmNodesOptions } from './slurm-nodes.js'
export { type SlurmPatienceOptions, type SlurmSilence, silenceLine } from './slurm-patience.js'
export { SlurmExecutor, type SlurmExecutorOptions } from './slurm-executor.js'
export {
  type SlurmJobEnd,
  type SlurmJobRequest,
  SlurmJobs,
  type SlurmJobsOptions,
  type SlurmJobStart,
} from './slurm-jobs.js'
