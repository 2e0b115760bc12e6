/** Returns a value as the indented JSON that commands print and write, with a newline at the end. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
