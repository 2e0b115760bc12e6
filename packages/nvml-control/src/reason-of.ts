export { reasonOf } from '@pctodl/platform'

/** Returns what a function reads, or null if it throws any error. */
export function unlessFailed<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
