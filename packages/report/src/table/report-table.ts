import Table from 'cli-table3'

/** A table as rows of text, for the page, Markdown and CSV. */
export interface ReportTable {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Text of a cell; `-` if there is no value. */
export function figure(value: number | null | undefined, decimals: number): string {
  return value?.toFixed(decimals) ?? '-'
}

/** `rich` tables use box characters and colour violations; `plain` tables are pure ASCII without escape sequences. */
export type TableStyle = 'plain' | 'rich'

/** The style that a stream supports: `rich` on a terminal, unless the user disabled colours (https://no-color.org). */
export function tableStyle(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): TableStyle {
  const refused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return stream.isTTY === true && !refused ? 'rich' : 'plain'
}

/**
 * Formats a table for a terminal; the first column is aligned left.
 *
 * @param alarms for each row, whether to highlight it
 */
export function textTable(
  { head, rows }: ReportTable,
  style: TableStyle,
  alarms: (row: readonly string[]) => boolean = () => false,
): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
    ...(style === 'plain' ? { chars: asciiBorders } : {}),
  })
  for (const row of rows) {
    const cells = row.map((cell) => printable(cell, style))
    table.push(style === 'rich' && alarms(row) ? cells.map((cell) => `\u001B[31m${cell}\u001B[39m`) : cells)
  }
  return table.toString()
}

const asciiBorders = {
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

/**
 * Makes text from other sources safe for a terminal: replaces control characters and, in plain tables, characters
 * outside ASCII.
 */
export function printable(text: string, style: TableStyle): string {
  return text.replace(style === 'rich' ? /\p{Cc}/gu : /[^ -~]/gu, '?')
}

export function tableAsCsv({ head, rows }: ReportTable): string {
  const cell = (value: string) =>
    /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value === '-' ? '' : value
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\n')}\n`
}

export function tableAsMarkdown({ head, rows }: ReportTable): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
