import type { RunRecord } from '@pctodl/report'
import { type RunLabels, RunRecorder, recordOfEvents } from '@pctodl/report/evaluate'
import { type RunEvent, type RunOptions, runPolicy } from '@pctodl/scheduler'

/**
 * Run a policy and record the run.
 *
 * @param trueEnergyJ returns the energy that a simulated board has drawn so far, J; undefined for a real board
 * @param onSample called with the time of each reading and of the reading before it, ms
 */
export async function recordRun(
  options: RunOptions,
  labels: RunLabels,
  trueEnergyJ: (() => number) | undefined,
  onSample: (timeMs: number, beforeMs: number) => void,
): Promise<RunRecord> {
  const events: RunEvent[] = []
  const recorder = new RunRecorder(trueEnergyJ)
  let lastMs = 0
  await runPolicy({
    ...options,
    onEvent: (event) => {
      events.push(event)
      recorder.add(event)
      if (event.type === 'sample') {
        onSample(event.timeMs, lastMs)
        lastMs = event.timeMs
      }
      options.onEvent?.(event)
    },
  })
  const record = recordOfEvents(events, labels)
  const { trueW } = recorder.recording().power
  return { ...record, power: { ...record.power, ...(trueW ? { trueW } : {}) } }
}
