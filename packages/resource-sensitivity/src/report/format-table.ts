import Table from 'cli-table3'

/** Formats a table whose first `texts` columns are text and whose other columns are numbers. */
export function formatTable(head: string[], rows: readonly string[][], texts = 0): string {
  const colAligns = head.map((_, column) => (column < texts ? 'left' : 'right'))
  const table = new Table({ head, colAligns, style: { head: [], border: [], compact: true } })
  table.push(...rows)
  return table.toString()
}
