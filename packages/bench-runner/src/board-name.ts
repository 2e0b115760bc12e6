import type { BenchTask } from './tasks.js'

/** Name of the board that a cell runs on: `A100`, or `A100~v3` of the ensemble. */
export function boardName({
  task,
  variant,
}: {
  readonly task: BenchTask
  readonly variant?: number | undefined
}): string {
  return variant === undefined ? task.board : `${task.board}~v${variant}`
}
