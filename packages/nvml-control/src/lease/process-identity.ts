import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'

/** Identifies a process beyond its pid, which may be reused. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start of the process, clock ticks since boot (`/proc/<pid>/stat`, field 22). */
  readonly startTime: number
}

/** The running process with this id; null if there is none. */
export function processIdentity(pid: number): ProcessIdentity | null {
  const startTime = startTimeOf(pid)
  return startTime === null ? null : { pid, startTime }
}

/** Whether this same process still runs. */
export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  return startTimeOf(pid) === startTime
}

/**
 * Its command line, words separated by spaces; null if it is gone or hidden. Show it only to users who could read it
 * themselves, and do not log it: it may contain access tokens. See `programNameOf`.
 */
export function commandLineOf(pid: number): string | null {
  return orNull(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null)
}

/** The base name of its program without arguments, which is safe to log. Null if it is gone or hidden. */
export function programNameOf(pid: number): string | null {
  const [first = ''] = orNull(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split(/[\0\s]/)) ?? []
  return path.basename(first).slice(0, 64) || null
}

/** Pid of the parent process; null if the process is gone. */
export function parentOf(pid: number): number | null {
  const parent = statFieldsOf(pid)?.[1]
  return parent === undefined ? null : Number(parent)
}

/** The running children of a process. */
export function childrenOf(pid: number): ProcessIdentity[] {
  return processesWhere((each) => parentOf(each) === pid)
}

/** The running processes of one user. */
export function processesOf(uid: number): ProcessIdentity[] {
  return processesWhere((each) => userOf(each) === uid)
}

/** The running processes whose id satisfies a condition. */
function processesWhere(isWanted: (pid: number) => boolean): ProcessIdentity[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isWanted(Number(name)))
    .map((name) => processIdentity(Number(name)))
    .filter((identity) => identity !== null)
}

/** The user that a process runs as; null if it is gone. */
export function userOf(pid: number): number | null {
  return orNull(() => statSync(`/proc/${pid}`).uid)
}

/** The file that a process executes; null if it is gone or belongs to somebody else. */
export function executableOf(pid: number): string | null {
  return orNull(() => readlinkSync(`/proc/${pid}/exe`))
}

/**
 * A variable in the environment that a process was started with; null if it was not set, or if the process is gone or
 * belongs to somebody else.
 */
export function startVariableOf(pid: number, name: string): string | null {
  const start = `${name}=`
  const variables = orNull(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'))
  return variables?.find((variable) => variable.startsWith(start))?.slice(start.length) ?? null
}

/** Identifies the current boot of the machine. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function startTimeOf(pid: number): number | null {
  const fields = statFieldsOf(pid)
  // A zombie has already ended.
  return fields === null || fields[0] === 'Z' ? null : Number(fields[19])
}

/** Fields of `/proc/<pid>/stat` from the state (field 3) on. */
function statFieldsOf(pid: number): string[] | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The name in parentheses may contain spaces and parentheses; count fields after its end.
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** The value, or null if the process is gone or hides it. */
function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
