// Schedules on a real Slurm cluster.
export { type ExecutedJob, type ExecuteOptions, executeSchedule } from './execute/execute-schedule.js'
export type { ScheduleExecutor } from './execute/schedule-executor.js'
export type { JournalEntry } from './execute/schedule-journal.js'
export { SAVED_EXIT_CODE } from './slurm/checkpoint-contract.js'
export {
  type SlurmPowerLimit,
  type SlurmRun,
  SlurmScheduleExecutor,
  type SlurmScheduleOptions,
} from './slurm/slurm-schedule-executor.js'
