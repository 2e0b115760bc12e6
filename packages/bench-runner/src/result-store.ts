import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { formatResultsCsv, formatRunRecord, parseRunRecord, type RunRecord, summarizeRun } from '@pctodl/report'
import { type Cell, cellStem, compareCells } from './cell.js'
import { type BoardIdentity, MANIFEST_VERSION, type Manifest, madeBy, parseManifest, sha256 } from './manifest.js'

/** A cell that failed and has no result. */
export interface FailedCell {
  readonly cell: Cell
  readonly message: string
}

const MANIFEST = '.manifest.json'
const RECORD = '.record.json'
const FAILURE = '.failed.json'

/**
 * Results of a folder. A cell has a CSV file in the Python code's columns, the complete record of the run, and a
 * manifest that makes the two a result. Files are written atomically.
 */
export class ResultStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  recordFile(cell: Cell): string {
    return this.#file(cell, RECORD)
  }

  /**
   * Remove partial files of processes that were killed.
   *
   * @throws InvalidInputError where the folder is a file
   */
  removeUnfinished(): void {
    if (!existsSync(this.folder)) return
    if (!statSync(this.folder).isDirectory())
      throw new InvalidInputError('--result-dir', this.folder, 'a folder; this is a file')
    for (const file of readdirSync(this.folder, { recursive: true, encoding: 'utf8' })) {
      const writer = /\.(\d+)\.unfinished$/.exec(file)
      if (writer && !isAlive(Number(writer[1]))) rmSync(path.join(this.folder, file), { force: true })
    }
  }

  /** Write a result. It replaces an earlier one of the same name. */
  write(cell: Cell, record: RunRecord, board: BoardIdentity): void {
    const csv = formatResultsCsv(record.windows)
    const json = formatRunRecord(record)
    const name = path.basename(this.#file(cell, ''))
    const manifest: Manifest = {
      manifestVersion: MANIFEST_VERSION,
      cell,
      madeBy: madeBy(cell),
      board,
      startedAt: record.windows[0]?.startedAt.toISOString() ?? '',
      files: { [`${name}.csv`]: sha256(csv), [`${name}${RECORD}`]: sha256(json) },
      summary: summarizeRun(record),
    }
    // An old manifest beside new files would vouch for files that it has not seen.
    rmSync(this.#file(cell, MANIFEST), { force: true })
    writeFileAtomically(this.#file(cell, '.csv'), csv)
    writeFileAtomically(this.#file(cell, RECORD), json)
    writeFileAtomically(this.#file(cell, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
    rmSync(this.#file(cell, FAILURE), { force: true })
  }

  writeFailure(cell: Cell, message: string): void {
    writeFileAtomically(this.#file(cell, FAILURE), `${JSON.stringify({ cell, message }, null, 2)}\n`)
  }

  /** Remove the results of a cell before it runs again. */
  clear(cell: Cell): void {
    for (const extension of [MANIFEST, FAILURE]) rmSync(this.#file(cell, extension), { force: true })
  }

  /**
   * The result of a cell if it belongs to exactly this cell, was made by this version with these parameters, and its
   * files are unchanged; otherwise the reason why it must be made again.
   */
  finished(cell: Cell): { readonly manifest: Manifest } | { readonly redoBecause: string } {
    const file = this.#file(cell, MANIFEST)
    if (!existsSync(file)) return { redoBecause: 'not finished' }
    let manifest: Manifest
    try {
      manifest = parseManifest(readFileSync(file, 'utf8'), file)
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      return { redoBecause: `its manifest cannot be read: ${error.message}` }
    }
    if (!sameJson(manifest.cell, cell)) return { redoBecause: 'the earlier run was asked for with other options' }
    if (!sameJson(manifest.madeBy, madeBy(cell))) {
      return { redoBecause: 'the earlier run was made by another version or with other predictor parameters' }
    }
    for (const [name, hash] of Object.entries(manifest.files)) {
      const result = path.join(path.dirname(file), name)
      if (!existsSync(result)) return { redoBecause: `${name} is missing` }
      if (sha256(readFileSync(result)) !== hash) return { redoBecause: `${name} is not as it was written` }
    }
    return { manifest }
  }

  /** The finished result of a cell, or why it failed; undefined if it has neither. */
  outcome(cell: Cell): Manifest | FailedCell | undefined {
    const result = this.finished(cell)
    if ('manifest' in result) return result.manifest
    const file = this.#file(cell, FAILURE)
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as FailedCell) : undefined
  }

  /** @throws InvalidInputError for a record that is not one */
  readRecord(cell: Cell): RunRecord {
    const file = this.#file(cell, RECORD)
    return parseRunRecord(readFileSync(file, 'utf8'), file)
  }

  /** All results and failures of the folder, in the order of the tables. */
  readAll(): { readonly manifests: Manifest[]; readonly failures: FailedCell[] } {
    const files = existsSync(this.folder) ? readdirSync(this.folder, { recursive: true, encoding: 'utf8' }) : []
    const read = (extension: string) =>
      files.filter((file) => file.endsWith(extension)).map((file) => path.join(this.folder, file))
    const manifests = read(MANIFEST).map((file) => parseManifest(readFileSync(file, 'utf8'), file))
    const failures = read(FAILURE).map((file) => JSON.parse(readFileSync(file, 'utf8')) as FailedCell)
    return {
      manifests: manifests.sort((a, b) => compareCells(a.cell, b.cell)),
      failures: failures.sort((a, b) => compareCells(a.cell, b.cell)),
    }
  }

  #file(cell: Cell, extension: string): string {
    return path.join(this.folder, `${cellStem(cell)}${extension}`)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether two values are the same as JSON, in which absent fields and the order of fields do not count. */
function sameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [a, b].map((value) => JSON.parse(JSON.stringify(value)))
  return isDeepStrictEqual(one, other)
}
