import { readFileSync } from 'node:fs'

/** A process that cannot be mistaken for a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start of the process, clock ticks since boot (`/proc/<pid>/stat`, field 22). */
  readonly startTime: number
}

/** The living process with this id; null where there is none. */
export function processIdentity(pid: number): ProcessIdentity | null {
  const startTime = startTimeOf(pid)
  return startTime === null ? null : { pid, startTime }
}

/** Whether the very same process still runs. */
export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  return startTimeOf(pid) === startTime
}

/** Its command line, words separated by blanks; null where it is gone or hides it. */
export function commandLineOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null
  } catch {
    return null
  }
}

/** Changes with every boot of the machine. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function startTimeOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, blanks and parentheses too; fields are counted after its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; it only waits for its parent.
    return fields[0] === 'Z' ? null : Number(fields[19])
  } catch {
    return null
  }
}
