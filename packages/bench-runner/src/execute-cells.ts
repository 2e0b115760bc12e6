import { anySignal, PctodlError } from '@pctodl/platform'
import type { RunSummary } from '@pctodl/report'
import type { Cell } from './cell.js'
import type { ResultStore } from './result-store.js'
import { runCell } from './run-cell.js'

export interface ExecuteOptions {
  /** Time limit for a cell, in real time, ms. */
  readonly timeoutMs?: number
  readonly signal: AbortSignal
  readonly onBegin?: (cell: Cell, redoBecause: string) => void
  readonly onEnd: (cell: Cell, ending: CellEnding) => void
}

export type CellEnding =
  | { readonly kind: 'done' | 'kept'; readonly summary: RunSummary }
  | { readonly kind: 'failed'; readonly message: string }

/**
 * Run cells one after the other in this process, each from a cold board, and store the results. A cell that already has
 * a complete result is kept.
 */
export async function executeCells(cells: readonly Cell[], store: ResultStore, options: ExecuteOptions): Promise<void> {
  for (const cell of cells) {
    options.signal.throwIfAborted()
    const earlier = store.finished(cell)
    if ('manifest' in earlier) {
      options.onEnd(cell, { kind: 'kept', summary: earlier.manifest.summary })
      continue
    }
    options.onBegin?.(cell, earlier.redoBecause)
    options.onEnd(cell, await executeCell(cell, store, options))
  }
}

async function executeCell(cell: Cell, store: ResultStore, { signal, timeoutMs }: ExecuteOptions): Promise<CellEnding> {
  store.clear(cell)
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  try {
    const { record, identity } = await runCell(cell, timeout ? anySignal([signal, timeout]) : signal)
    return { kind: 'done', summary: store.write(cell, record, identity).summary }
  } catch (error) {
    signal.throwIfAborted()
    const message = timeout?.aborted
      ? `took longer than ${timeoutMs! / 1000} s`
      : error instanceof PctodlError
        ? error.message
        : undefined
    if (message === undefined) throw error
    store.writeFailure(cell, message)
    return { kind: 'failed', message }
  }
}
