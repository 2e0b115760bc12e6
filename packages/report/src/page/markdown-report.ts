import { asMarkdown, tableAsMarkdown } from '../table/report-table.js'
import type { ReportContent, ReportPart } from './report-content.js'

/**
 * Returns the report as Markdown.
 *
 * @param pictures whether to show the charts, as image files in the same folder
 */
export function markdownReport(content: ReportContent, { pictures }: { readonly pictures: boolean }): string {
  const paragraphs = (part: ReportPart, level: string): string[] => {
    if ('heading' in part) {
      return [`${level} ${asMarkdown(part.heading)}`, ...part.parts.flatMap((inner) => paragraphs(inner, `${level}#`))]
    }
    if ('table' in part)
      return [tableAsMarkdown(part.table), ...(part.caption === undefined ? [] : [asMarkdown(part.caption)])]
    if ('list' in part) return [part.list.map((line) => `- ${asMarkdown(line)}`).join('\n')]
    return pictures ? [`![${part.chart}](charts/${part.chart}.svg)`] : []
  }
  const parts = content.sections.flatMap((section) => paragraphs(section, '##'))
  return `${['# Power-capping algorithms compared', ...parts].join('\n\n')}\n`
}
