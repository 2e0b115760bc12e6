import type { RunRecord } from '@pctodl/report'
import { type RunLabels, recordOfEvents } from '@pctodl/report/evaluate'
import { type RunEvent, type RunOptions, runPolicy } from '@pctodl/scheduler'

/**
 * Run a policy and record the run.
 *
 * @param trueEnergyJ energy that went into the board so far, J, where a simulated board tells it
 * @param onSample told of each reading, and when the one before it was taken, ms
 */
export async function recordRun(
  options: RunOptions,
  labels: RunLabels,
  trueEnergyJ: (() => number) | undefined,
  onSample: (timeMs: number, beforeMs: number) => void,
): Promise<RunRecord> {
  const events: RunEvent[] = []
  const trueW: number[] = []
  let lastMs = 0
  let lastJ = trueEnergyJ?.() ?? 0
  await runPolicy({
    ...options,
    onEvent: (event) => {
      events.push(event)
      if (event.type === 'sample') {
        const energyJ = trueEnergyJ?.() ?? 0
        trueW.push(((energyJ - lastJ) / (event.timeMs - lastMs)) * 1000)
        onSample(event.timeMs, lastMs)
        lastJ = energyJ
        lastMs = event.timeMs
      }
      options.onEvent?.(event)
    },
  })
  const record = recordOfEvents(events, labels)
  return { ...record, power: { ...record.power, ...(trueEnergyJ ? { trueW } : {}) } }
}
