/** A number with its noun: `1 GPU`, `2 GPUs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
