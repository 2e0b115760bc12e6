import { experimentPolicy, readRecordedExperiment } from '@pctodl/run'
import { type ReplayDifference, replayRun } from '@pctodl/scheduler'

/** The first decision of a recorded run that changes if its plan is this far below the cap. */
export function firstDifference(log: string, powerMarginW: number): ReplayDifference | undefined {
  const { experiment, events } = readRecordedExperiment(log)
  const { differences } = replayRun(events, experimentPolicy({ ...experiment, powerMarginW }))
  return differences[0]
}
