import { printable, textTable } from '../table/report-table.js'
import type { ReportContent, ReportPart } from './report-content.js'

/** Above this number of tasks, a board's section shows its algorithms instead of its tasks. */
const MAX_TASK_TABLES = 4

/** Returns the report as text for a terminal, without a newline at the end; an empty text if there are no runs. */
export function textReport({ sections, charts }: ReportContent): string {
  if (charts.size === 0) return ''
  const isTask = (part: ReportPart) => 'heading' in part
  const taskCount = sections.flatMap(({ parts }) => parts.filter(isTask)).length
  const shown = sections.flatMap((section): readonly ReportPart[] => {
    if (section.isRepetition) return []
    if (section.board === undefined) return [section]
    if (taskCount <= MAX_TASK_TABLES) return section.parts.filter(isTask)
    return [{ ...section, parts: section.parts.filter((part) => !isTask(part)) }]
  })
  return shown.map(partAsText).join('\n').trimEnd()
}

function partAsText(part: ReportPart): string {
  if ('heading' in part) return [`${printable(part.heading)}\n`, ...part.parts.map(partAsText)].join('')
  if ('list' in part) return part.list.map((line) => `${printable(line)}\n`).join('')
  if ('chart' in part) return ''
  return `${textTable(part.table)}\n${part.caption === undefined ? '' : `${printable(part.caption)}\n`}`
}
