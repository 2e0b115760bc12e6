import { printable, textTable } from '../table/report-table.js'
import type { ReportContent } from './report-content.js'
import { type ReportPart, reportParts } from './report-parts.js'

/** Above this number of tasks, a board's section shows its algorithms instead of its tasks. */
const MAX_TASK_TABLES = 4

/** Returns the report as text for a terminal; an empty text if there are no runs. */
export function textReport(content: ReportContent): string {
  const tasks = content.boards.flatMap((board) => board.tasks)
  if (tasks.length === 0) return ''
  // For single runs of one task, the task's own table already compares the algorithms.
  const isOneTask = tasks.length === 1 && tasks[0]!.rows.every(({ summary }) => summary.runs === undefined)
  const sections = reportParts(content).flatMap((section): readonly ReportPart[] => {
    if (section.isStandings && isOneTask) return []
    if (section.board === undefined) return [section]
    const isTask = (part: ReportPart) => 'heading' in part
    if (tasks.length <= MAX_TASK_TABLES) return section.parts.filter(isTask)
    return [{ ...section, parts: section.parts.filter((part) => !isTask(part)) }]
  })
  return sections.map(partAsText).join('\n')
}

function partAsText(part: ReportPart): string {
  if ('heading' in part) return [`${printable(part.heading)}\n`, ...part.parts.map(partAsText)].join('')
  if ('list' in part) return part.list.map((line) => `${printable(line)}\n`).join('')
  if ('chart' in part) return ''
  return `${textTable(part.table)}\n${part.caption === undefined ? '' : `${printable(part.caption)}\n`}`
}
