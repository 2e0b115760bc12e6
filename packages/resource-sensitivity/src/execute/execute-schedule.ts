import type { EngineEvent } from '../engine/engine-event.js'
import { ScheduleEngine } from '../engine/schedule-engine.js'
import { checkOptions, type SimulationOptions } from '../simulate/simulation-options.js'
import { type ExecutedJob, executeEvents } from './execute-events.js'
import type { ScheduleExecutor } from './schedule-executor.js'

export interface ExecuteOptions extends Omit<SimulationOptions, 'onPlan'> {
  readonly signal?: AbortSignal
  /** Told of all that the engine is told: with the times a journal, from which the same engine says the same again. */
  readonly onEvents?: (timeS: number, events: readonly EngineEvent[]) => void
}

/**
 * Run a trace by an executor: the engine that simulates, with real ends in place of reckoned ones. Jobs are submitted when the trace
 * says, by the executor's time.
 *
 * @returns one entry for each job that the cluster can run, in the order of arrival
 * @throws as `simulate`; the signal's reason when aborted; what the executor throws. Whatever happens, all that runs is ended.
 */
export async function executeSchedule(options: ExecuteOptions, executor: ScheduleExecutor): Promise<ExecutedJob[]> {
  const { jobs, incidents } = checkOptions(options)
  return await executeEvents(new ScheduleEngine(options), { ...options, jobs, incidents }, executor)
}
