/** A column of locked SM clocks beside one of limits; nothing where none is locked. */
export function clockColumn(gpus: readonly { readonly smClockMhz?: number | null | undefined }[]): {
  readonly head: readonly string[]
  readonly cells: readonly (readonly (number | string)[])[]
} {
  const clocks = gpus.map(({ smClockMhz = null }) => smClockMhz)
  if (clocks.every((clock) => clock === null)) return { head: [], cells: gpus.map(() => []) }
  return { head: ['clock MHz'], cells: clocks.map((clock) => [clock ?? 'free']) }
}
