/** Name of the board that a cell runs on: `A100`, or `A100~v3` of the ensemble. */
export function boardName({
  task,
  variant,
}: {
  readonly task: { readonly board: string }
  readonly variant?: number | undefined
}): string {
  return variant === undefined ? task.board : `${task.board}~v${variant}`
}
