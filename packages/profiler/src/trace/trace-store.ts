import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'
import { AppendOnlyFile } from './append-only-file.js'
import { assertSameRun, type Manifest, readManifest, writeManifest } from './manifest.js'
import { formatProfileRow, parseProfileCsv, profileHeader } from './profile-csv.js'
import { formatStaticRow, parseStaticCsv, staticHeader } from './static-csv.js'

/**
 * The files of one run: `board.csv`, `board.static.csv` if the plan has rows without tenants, and
 * `board.manifest.json`.
 */
export interface TraceFiles {
  readonly trace: string
  readonly static: string
  readonly manifest: string
}

export function traceFiles(out: string): TraceFiles {
  const { dir, name } = path.parse(out)
  const stem = path.join(dir, name)
  return { trace: out, static: `${stem}.static.csv`, manifest: `${stem}.manifest.json` }
}

/** Reads all rows of a finished run, in the order of its plan. */
export function readTrace(out: string): ProfileRow[] {
  const files = traceFiles(out)
  return inOrder([
    ...(existsSync(files.trace) ? parseProfileCsv(readFileSync(files.trace, 'utf8')) : []),
    ...(existsSync(files.static) ? parseStaticCsv(readFileSync(files.static, 'utf8')) : []),
  ])
}

/** Orders rows by their index in the plan. If a row was measured more than once, the last measurement is kept. */
function inOrder(rows: readonly ProfileRow[]): ProfileRow[] {
  return [...new Map(rows.map((row) => [row.row, row])).values()].sort((a, b) => a.row - b.row)
}

/**
 * The rows of a run on disk. Each row is appended when it is measured, so a killed run can continue after the last
 * complete row.
 */
export class TraceStore {
  readonly files: TraceFiles
  /** Rows that an earlier run measured and that this run keeps, in the order of the plan. */
  readonly measured: readonly ProfileRow[]
  /** Plan indices of rows that failed in an earlier run and that this run measures again. */
  readonly retries: ReadonlySet<number>
  readonly #trace: AppendOnlyFile | undefined
  readonly #static: AppendOnlyFile | undefined

  /**
   * @param resume whether to continue an existing run; if false, existing files are an error. `retry` also measures
   *   failed rows again, except those whose tenants do not fit in memory
   * @throws PctodlError `EXISTS`, `ANOTHER_RUN`, `CANNOT_WRITE`
   */
  constructor(out: string, manifest: Manifest, resume: boolean | 'retry') {
    this.files = traceFiles(out)
    const present = Object.values(this.files).find((file) => existsSync(file))
    if (present !== undefined && resume === false) {
      throw new PctodlError('EXISTS', `${present} exists; go on with it by --resume, or choose another --out`)
    }
    const before = readManifest(this.files.manifest)
    if (before) assertSameRun(before, manifest, this.files.manifest)
    else if (present !== undefined) {
      throw new PctodlError(
        'EXISTS',
        `${present} has no manifest beside it, so it cannot be resumed; choose another --out`,
      )
    } else writeManifest(this.files.manifest, manifest)
    const { rows } = manifest.plan
    const anyStatic = rows.some((row) => row.tenants.length === 0)
    const anyLoaded = rows.some((row) => row.tenants.length > 0)
    this.#trace = anyLoaded ? new AppendOnlyFile(this.files.trace, profileHeader) : undefined
    this.#static = anyStatic ? new AppendOnlyFile(this.files.static, staticHeader) : undefined
    const found = inOrder([
      ...(this.#trace && this.#trace.before !== '' ? parseProfileCsv(this.#trace.before) : []),
      ...(this.#static && this.#static.before !== '' ? parseStaticCsv(this.#static.before) : []),
    ])
    const isRetried = (row: ProfileRow) => resume === 'retry' && row.failed && row.status !== 'out-of-memory'
    this.measured = found.filter((row) => !isRetried(row))
    this.retries = new Set(found.filter(isRetried).map(({ row }) => row))
  }

  append(row: ProfileRow): void {
    if (row.tenants.length === 0) this.#static!.append(formatStaticRow(row))
    else this.#trace!.append(formatProfileRow(row))
  }

  close(): void {
    this.#trace?.close()
    this.#static?.close()
  }
}
