import Table from 'cli-table3'

const sides = ['top', 'bottom', 'left', 'mid', 'right']
const borders = sides.flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])

/** Formats a table in plain ASCII, for terminals and log files. The first column is text, the others are numbers. */
export function formatTable(head: string[], rows: readonly (readonly (string | number)[])[]): string {
  const table = new Table({
    head,
    chars: { ...Object.fromEntries(borders.map((name) => [name, ''])), middle: ' ' },
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1, compact: true },
  })
  table.push(...rows.map((row) => [...row]))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}
