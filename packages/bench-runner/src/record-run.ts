import type { RunRecord } from '@pctodl/report'
import { type RunLabels, recordOfEvents } from '@pctodl/report/evaluate'
import { type RunEvent, type RunOptions, runPolicy } from '@pctodl/scheduler'

export type SampleEvent = Extract<RunEvent, { type: 'sample' }>

/**
 * Run a policy and record the run.
 *
 * @param trueEnergyJ returns the energy that a simulated board has drawn so far, J; undefined for a real board
 * @param onSample called with each reading, the time of the reading before it, ms, and the true energy, J
 */
export async function recordRun(
  options: RunOptions,
  labels: RunLabels,
  trueEnergyJ: (() => number) | undefined,
  onSample: (sample: SampleEvent, beforeMs: number, energyJ: number | undefined) => void,
): Promise<RunRecord> {
  const events: RunEvent[] = []
  const trueW: number[] = []
  let beforeMs = 0
  let beforeJ = trueEnergyJ?.() ?? 0
  await runPolicy({
    ...options,
    onEvent: (event) => {
      events.push(event)
      if (event.type === 'sample') {
        const energyJ = trueEnergyJ?.()
        if (energyJ !== undefined) {
          trueW.push(((energyJ - beforeJ) / Math.max(1e-9, event.timeMs - beforeMs)) * 1000)
          beforeJ = energyJ
        }
        onSample(event, beforeMs, energyJ)
        beforeMs = event.timeMs
      }
      options.onEvent?.(event)
    },
  })
  const record = recordOfEvents(events, labels)
  return { ...record, power: { ...record.power, ...(trueEnergyJ ? { trueW } : {}) } }
}
