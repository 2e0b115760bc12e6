import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { jsonText, readJson, writeFileAtomically } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { formatResultsCsv, formatRunRecord, type RunRecord, summarizeRun } from '@pctodl/report'
import { z } from 'zod'
import { type Cell, cellStem, compareCells } from './cell.js'
import { cellSchema, MANIFEST_VERSION, type Manifest, madeBy, readManifest, sha256 } from './manifest.js'

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
   * Removes partial files of processes that were killed.
   *
   * @throws InvalidInputError if the folder is a file
   */
  removeUnfinished(): void {
    if (!existsSync(this.folder)) return
    if (!statSync(this.folder).isDirectory())
      throw new InvalidInputError('--result-dir', this.folder, 'a folder; this is a file')
    for (const file of this.#files('.unfinished')) {
      const writer = /\.(\d+)\.unfinished$/.exec(file)
      if (writer && !isAlive(Number(writer[1]))) rmSync(file, { force: true })
    }
  }

  write(cell: Cell, record: RunRecord, board: Manifest['board']): void {
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
    // An old manifest must not lie beside new files, because it would declare them complete.
    rmSync(this.#file(cell, MANIFEST), { force: true })
    writeFileAtomically(this.#file(cell, '.csv'), csv)
    writeFileAtomically(this.#file(cell, RECORD), json)
    writeFileAtomically(this.#file(cell, MANIFEST), jsonText(manifest))
    rmSync(this.#file(cell, FAILURE), { force: true })
  }

  writeFailure(cell: Cell, message: string): void {
    writeFileAtomically(this.#file(cell, FAILURE), jsonText({ cell, message }))
  }

  /** Removes the results of a cell before it runs again. */
  clear(cell: Cell): void {
    for (const extension of [MANIFEST, FAILURE]) rmSync(this.#file(cell, extension), { force: true })
  }

  /**
   * Returns the result of a cell if it belongs to exactly this cell, was made by this version with these parameters, and
   * its files are unchanged; otherwise the reason why it must be made again.
   */
  finished(cell: Cell): { readonly manifest: Manifest } | { readonly redoBecause: string } {
    const file = this.#file(cell, MANIFEST)
    if (!existsSync(file)) return { redoBecause: 'not finished' }
    let manifest: Manifest
    try {
      manifest = readManifest(file)
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

  /** Returns the finished result of a cell, or why it failed; undefined if it has neither. */
  outcome(cell: Cell): Manifest | FailedCell | undefined {
    const result = this.finished(cell)
    if ('manifest' in result) return result.manifest
    const file = this.#file(cell, FAILURE)
    return existsSync(file) ? readFailure(file) : undefined
  }

  /** Returns all results, with the files of their records, and all failures of the folder, in the order of tables. */
  readAll(): {
    readonly results: { readonly manifest: Manifest; readonly recordFile: string }[]
    readonly failures: FailedCell[]
  } {
    // The folder may be a part of a result folder. So a record is looked for beside its manifest.
    const results = this.#files(MANIFEST).map((file) => {
      return { manifest: readManifest(file), recordFile: file.replace(MANIFEST, RECORD) }
    })
    return {
      results: results.sort((a, b) => compareCells(a.manifest.cell, b.manifest.cell)),
      failures: this.#files(FAILURE)
        .map(readFailure)
        .sort((a, b) => compareCells(a.cell, b.cell)),
    }
  }

  /** Returns the paths of all files whose names have this ending. */
  #files(ending: string): string[] {
    const files = readdirSync(this.folder, { recursive: true, encoding: 'utf8' })
    return files.filter((file) => file.endsWith(ending)).map((file) => path.join(this.folder, file))
  }

  #file(cell: Cell, ending: string): string {
    return path.join(this.folder, `${cellStem(cell)}${ending}`)
  }
}

const failureSchema = z.looseObject({ cell: cellSchema, message: z.string() })

function readFailure(file: string): FailedCell {
  return readJson<FailedCell>(failureSchema, file, 'a failed run of bench-runner; delete the file')
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether two values are the same as JSON, in which absent fields and the order of fields do not count. */
function sameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [a, b].map((value) => JSON.parse(JSON.stringify(value)))
  return isDeepStrictEqual(one, other)
}
