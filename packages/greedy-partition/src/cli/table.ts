import Table from 'cli-table3'

/** A plain ASCII table, which is also readable in a log. */
export function newTable(head: string[]): Table.Table {
  const bar = {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
  }
  const rest = {
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: ' ',
  }
  const words = new Set(['service', 'network', 'stage', 'move'])
  return new Table({
    head,
    chars: { ...bar, ...rest },
    colAligns: head.map((name) => (words.has(name) ? 'left' : 'right')),
    style: { head: [], border: [], 'padding-left': 1, 'padding-right': 1, compact: true },
  })
}
