import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import type { ProfileRow } from '../measure/profile-row.js'
import type { PlannedRow } from '../plan/profile-plan.js'
import { AppendOnlyFile } from './append-only-file.js'
import { assertSameRun, type Manifest, writeManifest } from './manifest.js'
import { profileTable, staticTable } from './trace-tables.js'

const tables = { trace: profileTable, static: staticTable }
const kinds = ['trace', 'static'] as const
const kindOf = ({ tenants }: Pick<PlannedRow, 'tenants'>) => (tenants.length > 0 ? 'trace' : 'static')

/** The files of one run: rows with tenants, rows without, and the manifest. */
function traceFiles(out: string) {
  const { dir, name } = path.parse(out)
  const stem = path.join(dir, name)
  return { trace: out, static: `${stem}.static.csv`, manifest: `${stem}.manifest.json` }
}

/** Reads all rows of a run, in the order of its plan. If a row was measured more than once, the last one counts. */
export function readTrace(out: string): ProfileRow[] {
  const files = traceFiles(out)
  const rows = kinds.flatMap((kind) =>
    existsSync(files[kind]) ? tables[kind].parse(readFileSync(files[kind], 'utf8')) : [],
  )
  return [...new Map(rows.map((row) => [row.row, row])).values()].sort((a, b) => a.row - b.row)
}

/**
 * The rows of a run on disk. Each row is appended when it is measured, so a killed run can continue after the last
 * complete row.
 */
export class TraceStore {
  /** The files that the run writes. */
  readonly files: readonly string[]
  /** Rows that an earlier run measured and that this run keeps, in the order of the plan. */
  readonly measured: readonly ProfileRow[]
  /** Plan indices of the rows that this run measures; last those that failed in an earlier run. */
  readonly left: readonly number[]
  readonly #open: Partial<Record<'trace' | 'static', AppendOnlyFile>> = {}

  /**
   * @param resume whether to continue an existing run; if false, existing files are an error. Rows of a real board that
   *   failed are then measured again, except those whose tenants do not fit in memory
   * @throws PctodlError `EXISTS`, `ANOTHER_RUN`, `CANNOT_WRITE`
   */
  constructor(out: string, manifest: Manifest, resume: boolean) {
    const files = traceFiles(out)
    const present = Object.values(files).find((file) => existsSync(file))
    if (present === undefined) writeManifest(files.manifest, manifest)
    else if (!resume) {
      throw new PctodlError('EXISTS', `${present} exists; go on with it by --resume, or choose another --out`)
    } else if (!existsSync(files.manifest)) {
      throw new PctodlError(
        'EXISTS',
        `${present} has no manifest beside it, so it cannot be resumed; choose another --out`,
      )
    } else assertSameRun(files.manifest, manifest)
    const own = kinds.filter((kind) => manifest.plan.rows.some((row) => kindOf(row) === kind))
    for (const kind of own) this.#open[kind] = new AppendOnlyFile(files[kind], tables[kind].header)
    this.files = [...own, 'manifest' as const].map((kind) => files[kind])
    const found = readTrace(out)
    // On a simulated board, a row that failed would fail again.
    const isRetried = ({ failed, status }: ProfileRow) =>
      manifest.backend !== 'sim' && failed && status !== 'out-of-memory'
    this.measured = found.filter((row) => !isRetried(row))
    const known = new Set(found.map(({ row }) => row))
    const unknown = [...manifest.plan.rows.keys()].filter((row) => !known.has(row))
    this.left = [...unknown, ...found.filter(isRetried).map(({ row }) => row)]
  }

  append(row: ProfileRow): void {
    const kind = kindOf(row)
    this.#open[kind]!.append(tables[kind].format(row))
  }

  close(): void {
    for (const file of Object.values(this.#open)) file.close()
  }
}
