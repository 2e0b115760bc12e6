export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns what a function reads, or null if it throws any error. */
export function unlessFailed<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
