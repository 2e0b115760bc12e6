import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { InvalidInputError } from '@pctodl/platform'

export type Row = Readonly<Record<string, string>>

/** The tables of a folder, `<name>.csv`, packed as `.br` or `.gz` or not, by name. */
export function readTables(folder: string): Map<string, Row[]> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new InvalidInputError('folder', folder, 'a folder with measured tables as CSV files')
  }
  const files = readdirSync(folder).filter((file) => /\.csv(\.br|\.gz)?$/.test(file))
  return new Map(files.sort().map((file) => [file.replace(/\.csv.*$/, ''), rowsOf(path.join(folder, file))]))
}

function rowsOf(file: string): Row[] {
  const [header, ...lines] = unpacked(file)
    .toString('utf8')
    .trim()
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
  const columns = cells(header ?? '')
  return lines.map((line) => {
    const values = cells(line)
    return Object.fromEntries(columns.map((column, i) => [column, values[i] ?? '']))
  })
}

function unpacked(file: string): Buffer {
  const bytes = readFileSync(file)
  try {
    return file.endsWith('.br') ? brotliDecompressSync(bytes) : file.endsWith('.gz') ? gunzipSync(bytes) : bytes
  } catch (cause) {
    throw new InvalidInputError('table', file, 'a table packed as its name says; pack it again, or remove it', {
      cause,
    })
  }
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
