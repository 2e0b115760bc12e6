import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'
import { AppendOnlyFile } from './append-only-file.js'
import { assertSameRun, type Manifest, readManifest, writeManifest } from './manifest.js'
import { formatProfileRow, parseProfileCsv, profileHeader } from './profile-csv.js'
import { formatStaticRow, parseStaticCsv, staticHeader } from './static-csv.js'

/** The files of one run: `board.csv`, `board.static.csv` if there are rows without work, `board.manifest.json`. */
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

/** The rows by their index in the plan; the last measurement counts if a row was repeated. */
function inOrder(rows: readonly ProfileRow[]): ProfileRow[] {
  return [...new Map(rows.map((row) => [row.row, row])).values()].sort((a, b) => a.row - b.row)
}

/** A run's rows on disk, appended as they are measured. A killed run continues after its last complete row. */
export class TraceStore {
  readonly files: TraceFiles
  /** Rows that an earlier run measured and this one does not, in the order of the plan. */
  readonly measured: readonly ProfileRow[]
  /** Indices in the plan of rows that an earlier run failed to measure and this one measures again. */
  readonly retries: ReadonlySet<number>
  readonly #trace: AppendOnlyFile | undefined
  readonly #static: AppendOnlyFile | undefined

  /**
   * @param resume continue an existing run; without it, existing files are an error. `retry`: measure failed rows
   * again, except if a tenant does not fit
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
