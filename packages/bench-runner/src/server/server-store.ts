import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { madeBy } from '../made-by.js'
import { type MadeBy, sha256 } from '../manifest.js'
import type { ServerRun } from './run-server-task.js'
import { type ServerCell, serverCellStem } from './server-cell.js'

/** What came of a cell: the run, or the factor at which it bears most. */
export interface ServerResult {
  readonly run?: ServerRun
  readonly mostLoad?: number
}

interface StoredResult {
  readonly version: 1
  readonly cell: ServerCell
  readonly madeBy: MadeBy
  /** Of the result, as JSON. */
  readonly sha256: string
  readonly result: ServerResult
}

/** The results of a folder, a file each, whole or not there. */
export class ServerStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  file(cell: ServerCell): string {
    return path.join(this.folder, `${serverCellStem(cell)}.json`)
  }

  clear(cell: ServerCell): void {
    rmSync(this.file(cell), { force: true })
  }

  write(cell: ServerCell, result: ServerResult): void {
    const stored: StoredResult = { version: 1, cell, madeBy: made(cell), sha256: hashOf(result), result }
    writeFileAtomically(this.file(cell), `${JSON.stringify(stored)}\n`)
  }

  /** The result of exactly this cell, by this version and these parameters, as it was written; undefined where there is none. */
  finished(cell: ServerCell): ServerResult | undefined {
    const file = this.file(cell)
    if (!existsSync(file)) return undefined
    try {
      const stored = JSON.parse(readFileSync(file, 'utf8')) as StoredResult
      const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
      if (stored.version !== 1 || !same(stored.cell, cell) || !same(stored.madeBy, made(cell))) return undefined
      return stored.sha256 === hashOf(stored.result) ? stored.result : undefined
    } catch (error) {
      // Somebody else's file, or half of one: made again.
      if (error instanceof SyntaxError || error instanceof TypeError) return undefined
      throw error
    }
  }
}

function made({ board, parametersFolder }: ServerCell): MadeBy {
  return madeBy({ task: { board }, ...(parametersFolder === undefined ? {} : { parametersFolder }) })
}

function hashOf(result: ServerResult): string {
  return sha256(JSON.stringify(result))
}
