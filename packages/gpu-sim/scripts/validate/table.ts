import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { brotliDecompressSync } from 'node:zlib'

export type Row = Readonly<Record<string, string>>

/** Rows of `<name>.csv`, or `<name>.csv.br`, in a folder of measured tables; null where the folder has no such table. */
export function readTable(folder: string, name: string): Row[] | null {
  const file = path.join(folder, `${name}.csv`)
  const packed = `${file}.br`
  const text = existsSync(file)
    ? readFileSync(file, 'utf8')
    : existsSync(packed)
      ? brotliDecompressSync(readFileSync(packed)).toString('utf8')
      : null
  if (text === null) return null
  const [header, ...lines] = text
    .trim()
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
  const columns = cells(header!)
  return lines.map((line) => {
    const values = cells(line)
    return Object.fromEntries(columns.map((column, i) => [column, values[i] ?? '']))
  })
}

export const number = (row: Row, column: string): number => Number(row[column])

export function groupBy(rows: readonly Row[], ...columns: string[]): Row[][] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const key = columns.map((column) => row[column]).join('|')
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()]
}

function cells(line: string): string[] {
  return [...line.matchAll(/("([^"]*)"|[^,]*)(,|$)/g)].slice(0, -1 || undefined).map((m) => m[2] ?? m[1]!)
}
