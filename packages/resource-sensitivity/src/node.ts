// Schedules on a real Slurm cluster.
export { executeSchedule } from './execute/execute-schedule.js'
export { requestOfSchedule } from './execute/requests.js'
// Training jobs under limits, for `profileJob`.
export { assertContainerRuntime } from './profile/runs/container.js'
// The limits themselves.
export { allowedCpus, withCpus } from './profile/runs/cpu-affinity.js'
export { measureDataset, measureMemoryGBps, measureStorageMBps } from './profile/runs/measure-machine.js'
export { createMemoryGroup } from './profile/runs/memory-group.js'
export { RunLog } from './profile/runs/run-log.js'
export { runTraining } from './profile/runs/run-training.js'
export type { TrainingJob } from './profile/runs/training-command.js'
export { SlurmScheduleExecutor } from './slurm/slurm-schedule-executor.js'
