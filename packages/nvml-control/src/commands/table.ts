/** Formats a table with aligned columns and no border lines, so that `cut` can process it. */
export function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = head.length === 0 ? rows : [head, ...rows]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]!.length))) ?? []
  const padded = (line: readonly string[]) => line.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')
  return lines.map((line) => `${padded(line).trimEnd()}\n`).join('')
}

/** Formats a value with its unit; `-` if the value is unknown. */
export function shown(value: number | null | undefined, unit: string, digits = 0): string {
  return value === null || value === undefined ? '-' : `${value.toFixed(digits)} ${unit}`
}

export function gibibytes(bytes: number | null): string {
  return bytes === null ? '-' : `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}
