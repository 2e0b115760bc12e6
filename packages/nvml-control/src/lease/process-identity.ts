import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'

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

/**
 * Its command line, words separated by blanks; null where it is gone or hides it. Only for showing it to somebody who could ask
 * the system as well: it may hold what must not be written down. See `programNameOf`.
 */
export function commandLineOf(pid: number): string | null {
  return orNull(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null)
}

/** The base name of its program, without any argument: what may be written down. Null where it is gone or hides it. */
export function programNameOf(pid: number): string | null {
  const [first = ''] = orNull(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split(/[\0\s]/)) ?? []
  return path.basename(first).slice(0, 64) || null
}

/** The process that has started another, or has inherited it; null where it is gone. */
export function parentOf(pid: number): number | null {
  const parent = statFieldsOf(pid)?.[1]
  return parent === undefined ? null : Number(parent)
}

/** The living processes that a process has started. */
export function childrenOf(pid: number): ProcessIdentity[] {
  return processesWhere((each) => parentOf(each) === pid)
}

/** The living processes of one user. */
export function processesOf(uid: number): ProcessIdentity[] {
  return processesWhere((each) => userOf(each) === uid)
}

/** The living processes whose id meets a condition. */
function processesWhere(isWanted: (pid: number) => boolean): ProcessIdentity[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isWanted(Number(name)))
    .map((name) => processIdentity(Number(name)))
    .filter((identity) => identity !== null)
}

/** The user that a process runs as; null where it is gone. */
export function userOf(pid: number): number | null {
  return orNull(() => statSync(`/proc/${pid}`).uid)
}

/** The file that a process executes; null where it is gone or belongs to somebody else. */
export function executableOf(pid: number): string | null {
  return orNull(() => readlinkSync(`/proc/${pid}/exe`))
}

/** A variable that a process was started with; null where it was not, or where the process is gone or somebody else's. */
export function startVariableOf(pid: number, name: string): string | null {
  const start = `${name}=`
  const variables = orNull(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'))
  return variables?.find((variable) => variable.startsWith(start))?.slice(start.length) ?? null
}

/** Changes with every boot of the machine. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function startTimeOf(pid: number): number | null {
  const fields = statFieldsOf(pid)
  // A zombie has ended; it only waits for its parent.
  return fields === null || fields[0] === 'Z' ? null : Number(fields[19])
}

/** `/proc/<pid>/stat` from the state (field 3) on. */
function statFieldsOf(pid: number): string[] | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The name in parentheses may hold anything, blanks and parentheses too; fields are counted after its end.
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Null where the process is gone, or hides what was asked for. */
function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
