import { tableAsMarkdown } from '../table/report-table.js'
import {
  headlineCaption,
  headlineTable,
  standingsCaption,
  standingsHeading,
  standingsTable,
} from '../table/standings-table.js'
import type { ReportContent } from './report-content.js'
import { algorithmTable, taskTable } from './report-tables.js'
import { caption, explanation, taskHeading } from './report-words.js'

/**
 * Returns the report as Markdown.
 *
 * @param pictures whether to show the charts, as image files in the same folder
 */
export function markdownReport(content: ReportContent, { pictures }: { readonly pictures: boolean }): string {
  const { standings } = content
  const parts = [
    '# Power-capping algorithms compared',
    ...(standings
      ? [
          `## ${standingsHeading}`,
          tableAsMarkdown(headlineTable(standings)),
          headlineCaption,
          tableAsMarkdown(standingsTable(standings)),
          standingsCaption(standings),
        ]
      : []),
    '## How the figures were obtained',
    explanation(content)
      .map((line) => `- ${line}`)
      .join('\n'),
  ]
  for (const board of content.boards) {
    parts.push(`## ${board.board}`, tableAsMarkdown(algorithmTable(board)), caption(board))
    if (board.chart && pictures) parts.push(`![All tasks on ${board.board}](charts/${board.board}_matrix.svg)`)
    for (const task of board.tasks) {
      parts.push(`### ${taskHeading(task)}`, tableAsMarkdown(taskTable(task.rows)))
      if (pictures) parts.push(`![${taskHeading(task)}](charts/${task.task.stem}.svg)`)
    }
  }
  if (content.excluded.length > 0) {
    parts.push('## Excluded', content.excluded.map(({ what, why }) => `- ${what}: ${why}`).join('\n'))
  }
  return `${parts.join('\n\n')}\n`
}
