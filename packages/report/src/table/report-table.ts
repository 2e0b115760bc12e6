import Table from 'cli-table3'

/** A table as rows of text, for the terminal, the page, Markdown and CSV. */
export interface ReportTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Text of a cell; `-` if there is no value, or no finite one. */
export function figure(value: number | null | undefined, decimals: number): string {
  return Number.isFinite(value) ? value!.toFixed(decimals) : '-'
}

/** Returns the table without the columns that have no value in any row. */
export function withoutEmptyColumns({ head, rows }: ReportTable): ReportTable {
  const filled = (row: readonly string[]) => row.filter((_, i) => rows.some((other) => other[i] !== '-'))
  return { head: filled(head), rows: rows.map(filled) }
}

const borders = {
  top: '-',
  'top-mid': '+',
  'top-left': '+',
  'top-right': '+',
  bottom: '-',
  'bottom-mid': '+',
  'bottom-left': '+',
  'bottom-right': '+',
  left: '|',
  'left-mid': '+',
  mid: '-',
  'mid-mid': '+',
  right: '|',
  'right-mid': '+',
  middle: '|',
}

/** Formats a table in plain ASCII, which reads the same on a terminal and in a log. The first column is aligned left. */
export function textTable({ head, rows }: ReportTable): string {
  const table = new Table({
    head: head.map(printable),
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
    chars: borders,
  })
  table.push(...rows.map((row) => row.map(printable)))
  return table.toString()
}

/** Replaces all characters that are not printable ASCII, because text from logs could control the terminal. */
export function printable(text: string): string {
  return text
    .replaceAll('\u2192', '->')
    .replaceAll('\u2019', "'")
    .replace(/[^ -~]/gu, '?')
}

/** A `-` becomes an empty cell. Lists are always quoted, as in the result files of PctoDL's Python code. */
export function tableAsCsv({ head, rows }: ReportTable): string {
  const cell = (value: string) =>
    /[",\n[]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value === '-' ? '' : value
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\n')}\n`
}

/** Text from logs could break lines or contain HTML. */
export function asMarkdown(text: string): string {
  return text.replaceAll('<', '&lt;').replace(/\p{Cc}/gu, ' ')
}

export function tableAsMarkdown({ head, rows }: ReportTable): string {
  const cell = (text: string) => asMarkdown(text).replaceAll('|', '\\|')
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
