import Table from 'cli-table3'

/** A plain table: aligned columns without lines, so that it can be read and cut. */
export function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const none = Object.fromEntries(
    ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'].map((k) => [
      k,
      '',
    ]),
  )
  const inner = Object.fromEntries(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'].map((k) => [k, '']))
  const table = new Table({
    head: [...head],
    chars: { ...none, ...inner, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  table.push(...rows.map((row) => [...row]))
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

/** A value with its unit, `-` for what is not known. */
export function shown(value: number | null | undefined, unit: string, digits = 0): string {
  return value === null || value === undefined ? '-' : `${value.toFixed(digits)} ${unit}`
}

export function gibibytes(bytes: number | null): string {
  return bytes === null ? '-' : `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}
