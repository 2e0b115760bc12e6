// Schedules on a real Slurm cluster.
export { type ExecutedJob, type ExecuteOptions, executeSchedule } from './execute/execute-schedule.js'
export { requestOfSchedule, type ScheduleRequest } from './execute/requests.js'
export type { ScheduleExecutor } from './execute/schedule-executor.js'
export type { JournalEntry } from './execute/schedule-journal.js'
// Training jobs under limits, for `profileJob`.
export { assertContainerRuntime, type ContainerOptions, dataInContainer, dataOnHost } from './profile/runs/container.js'
// The limits themselves.
export { allowedCpus, withCpus } from './profile/runs/cpu-affinity.js'
export { measureDataset, measureMemoryGBps, measureStorageMBps } from './profile/runs/measure-machine.js'
export { cgroupRoot, createMemoryGroup, type MemoryGroup } from './profile/runs/memory-group.js'
export { RunLog } from './profile/runs/run-log.js'
export { type RunSetting, runTraining } from './profile/runs/run-training.js'
export { assertScript, optionAmong, type TrainingJob } from './profile/runs/training-command.js'
export { SAVED_EXIT_CODE } from './slurm/slurm-run.js'
export {
  type SlurmPowerLimit,
  type SlurmRun,
  SlurmScheduleExecutor,
  type SlurmScheduleOptions,
} from './slurm/slurm-schedule-executor.js'
