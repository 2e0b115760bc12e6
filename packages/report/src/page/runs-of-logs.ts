import type { JudgedEvent, RunStart } from '../record/judged-event.js'
import { recordOfEvents, runStartOf } from '../record/run-recorder.js'
import { summarizeRun } from '../verdict/run-summary.js'
import type { ReportedRun } from './report-content.js'

/** The log of one run. */
export interface RunLog {
  /** Name of the run in tables and charts. Default: the name of its policy. */
  readonly algorithm?: string
  /** Events of the run, beginning with its `run-start`. */
  readonly events: readonly JudgedEvent[]
}

/**
 * Converts logs to runs of a report. Runs with the same board, networks, data and caps belong to one task; tasks are
 * numbered in order of appearance. A second run of one algorithm on a task is a repetition; figures are means over the
 * repetitions.
 *
 * @throws InvalidInputError for a log from which no verdict can be made
 */
export function runsOfLogs(logs: readonly RunLog[]): ReportedRun[] {
  const ids = new Map<string, number>()
  const repetitions = new Map<string, number>()
  return logs.map(({ algorithm, events }): ReportedRun => {
    const start = runStartOf(events)
    const unnumbered = recordOfEvents(events, algorithm === undefined ? {} : { algorithm })
    const { board, model, dataset } = unnumbered
    const capsW = capsOf(start, events)
    const key = JSON.stringify([board, model, dataset, capsW])
    const id = ids.get(key) ?? ids.size + 1
    ids.set(key, id)
    const record = { ...unnumbered, taskId: id }
    const of = JSON.stringify([id, record.algorithm])
    const repetition = (repetitions.get(of) ?? 0) + 1
    repetitions.set(of, repetition)
    // Files of the report are named after the board. A name from a log must not lead to another folder.
    const section = board.replaceAll(/[/\\]/g, '-')
    return {
      task: { board: section, id, model, dataset, capsW, stem: fileName(`${board}_${id}_${model}_${dataset}`) },
      summary: summarizeRun(record),
      repetition,
      record: () => record,
      madeBy: makerOf(start),
    }
  })
}

/**
 * The caps that the log declares at its start or, without these, the caps of its samples. A run that was cut short may
 * not have reached all declared caps.
 */
function capsOf({ caps }: RunStart, events: readonly JudgedEvent[]): number[] {
  if (caps) return caps.map(({ powerCapW }) => powerCapW)
  const met = events.flatMap((event) => (event.type === 'sample' ? [event.powerCapW] : []))
  return met.filter((capW, i) => capW !== met[i - 1])
}

function makerOf({ policy, board, startedAt, about }: RunStart): string {
  const backend = about?.['backend']
  return `${policy} on ${typeof backend === 'string' ? backend : board}, begun ${startedAt}`
}

function fileName(text: string): string {
  return text.replaceAll(/[^\w.+-]+/g, '-')
}
