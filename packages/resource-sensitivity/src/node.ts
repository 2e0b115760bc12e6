// Schedules on a real Slurm cluster.
export { executeSchedule } from './execute/execute-schedule.js'
export { requestOfSchedule } from './execute/requests.js'
export { SlurmScheduleExecutor } from './execute/slurm-schedule-executor.js'
export { measureDataset, measureMemoryGBps, measureStorageMBps } from './profile/measure-machine.js'
// Training jobs under limits, for `profileJob`.
// The limits themselves.
export { allowedCpus, assertContainerRuntime, createMemoryGroup, withCpus } from './profile/run-limits.js'
export { RunLog } from './profile/run-report.js'
export type { TrainingJob } from './profile/run-training.js'
export { runTraining } from './profile/run-training.js'
