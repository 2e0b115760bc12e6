import Table from 'cli-table3'

/** Formats a table whose first column is text and whose other columns are numbers. */
export function formatTable(head: string[], rows: readonly string[][]): string {
  const colAligns = head.map((_, column) => (column === 0 ? 'left' : 'right'))
  const table = new Table({ head, style: { head: [], border: [] }, colAligns })
  table.push(...rows)
  return table.toString()
}
