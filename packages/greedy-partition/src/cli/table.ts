import Table from 'cli-table3'

/** Borders and separators that a table leaves out. */
const lines = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
]

/** A plain ASCII table, which is also readable in a log. */
export function newTable(head: string[]): Table.Table {
  const words = new Set(['service', 'network', 'stage', 'move'])
  return new Table({
    head,
    chars: { ...Object.fromEntries(lines.map((name) => [name, ''])), middle: ' ' },
    colAligns: head.map((name) => (words.has(name) ? 'left' : 'right')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
  })
}
