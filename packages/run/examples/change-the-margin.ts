import { experimentPolicy, readRecordedExperiment } from '@pctodl/run'
import { type ReplayDifference, replayRun } from '@pctodl/scheduler'

/** Where a recorded run would first have gone another way, had it been planned so far below its cap. */
export function firstDifference(log: string, powerMarginW: number): ReplayDifference | undefined {
  const { experiment, events } = readRecordedExperiment(log)
  const { differences } = replayRun(events, experimentPolicy({ ...experiment, powerMarginW }))
  return differences[0]
}
