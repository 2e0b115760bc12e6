import type { BoardChange } from './board-change.js'

/** A way to change a board. */
export interface BoardControl {
  /** @throws PctodlError `NO_PERMISSION`, `NOT_SUPPORTED`, `GPU_LOST`, ... */
  apply(change: BoardChange): Promise<void>
  /** The same without the event loop, for a process that is ending. */
  applySync(change: BoardChange): void
}
