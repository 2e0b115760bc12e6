import { readFileSync } from 'node:fs'
import path from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { packageFolder, type ReferenceFile, referenceFiles } from './manifest.js'

/** Thrown for a name that is not in the manifest. */
export class UnknownReferenceError extends Error {
  readonly code: string = 'UNKNOWN_REFERENCE'

  constructor(name: string, known: readonly string[]) {
    super(`unknown reference '${name}'; known: ${known.join(', ')}`)
    this.name = 'UnknownReferenceError'
  }
}

/** Path of a file within the package. */
export function storedPath({ name, compressed }: ReferenceFile): string {
  return path.join(packageFolder, 'files', compressed ? `${name}.br` : name)
}

export function contentOf(file: ReferenceFile): Buffer {
  const bytes = readFileSync(storedPath(file))
  return file.compressed ? brotliDecompressSync(bytes) : bytes
}

/**
 * Returns the text of a reference file, for example `golden('synergy/golden/summary.json')`.
 *
 * @throws UnknownReferenceError listing the known names
 */
export function golden(name: string): string {
  const file = referenceFiles.find((candidate) => candidate.name === name)
  if (file === undefined) {
    throw new UnknownReferenceError(
      name,
      referenceFiles.map((candidate) => candidate.name),
    )
  }
  return contentOf(file).toString('utf8')
}

/** Returns the parsed content of a JSON reference file. @throws UnknownReferenceError */
// biome-ignore lint/suspicious/noExplicitAny: the caller knows the file's type
export const goldenJson = (name: string): any => JSON.parse(golden(name))

/** Returns the rows of a CSV reference file with a header, as text by column. @throws UnknownReferenceError */
export function goldenRows(name: string): Record<string, string>[] {
  return parse(golden(name), { columns: true })
}
