// Schedules on a real Slurm cluster.
export type { ExecutedJob } from './execute/execute-events.js'
export { type ExecuteOptions, executeSchedule } from './execute/execute-schedule.js'
export type { ScheduleExecutor } from './execute/schedule-executor.js'
export { type ExecuteBudgetOptions, executeUnderBudget } from './mixed/budget-schedule.js'
export { SAVED_EXIT_CODE } from './slurm/checkpoint-contract.js'
export {
  type SlurmPowerLimit,
  type SlurmRun,
  SlurmScheduleExecutor,
  type SlurmScheduleOptions,
} from './slurm/slurm-schedule-executor.js'
