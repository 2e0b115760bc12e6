import { parseRunEvents, type RunSummary, recordOfEvents, summarizeRun } from '@pctodl/report'

/** The log of a minute under a cap of 150 W, as any program could write it. Power exceeds the cap for four seconds. */
const log = [
  { timeMs: 0, type: 'run-start', version: 1, board: 'A100', policy: 'mine', startedAt: '2026-01-01T00:00:00Z' },
  ...Array.from({ length: 600 }, (_, i) => {
    const timeMs = 100 * (i + 1)
    const powerAverageW = timeMs > 20_000 && timeMs <= 24_000 ? 158 : 146
    return { timeMs, type: 'sample', powerCapW: 150, telemetry: { powerAverageW }, completed: 400 * (i + 1) }
  }),
  { timeMs: 60_000, type: 'run-end', outcome: 'done' },
]

export function judge(): RunSummary {
  const text = log.map((event) => `${JSON.stringify(event)}\n`).join('')
  const events = parseRunEvents(text, 'my.events.jsonl')
  return summarizeRun(recordOfEvents(events, { model: 'resnet50', dataset: 'imagenet' }))
}
