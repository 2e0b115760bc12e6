import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'
import { unlessFailed } from '../reason-of.js'

/** Identifies a process by pid and start time, because a pid may be reused. */
export interface ProcessIdentity {
  readonly pid: number
  /** Start time of the process, clock ticks since boot (`/proc/<pid>/stat`, field 22). */
  readonly startTime: number
}

/** Returns the identity of the running process with this pid; null if there is none. */
export function processIdentity(pid: number): ProcessIdentity | null {
  const stat = statOf(pid)
  return stat && { pid, startTime: stat.startTime }
}

export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  return statOf(pid)?.startTime === startTime
}

/**
 * Returns the command line of a process, with spaces between arguments; null if the process is gone or hidden. It may
 * contain access tokens: do not log it, and show it only to users who could read it themselves.
 */
export function commandLineOf(pid: number): string | null {
  return unlessFailed(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null)
}

/** Returns the base name of a process's program, which is safe to log; null if it is gone or hidden. */
export function programNameOf(pid: number): string | null {
  const [first = ''] = unlessFailed(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split(/[\0\s]/)) ?? []
  return path.basename(first).slice(0, 64) || null
}

export function childrenOf(pid: number): ProcessIdentity[] {
  return allProcesses().flatMap(({ each, parent }) => (parent === pid ? each : []))
}

export function descendantsOf(pid: number): ProcessIdentity[] {
  const all = allProcesses()
  const under = (above: number): ProcessIdentity[] =>
    all.flatMap(({ each, parent }) => (parent === above ? [each, ...under(each.pid)] : []))
  return under(pid)
}

export function processesOf(uid: number): ProcessIdentity[] {
  return allProcesses().flatMap(({ each }) => (userOf(each.pid) === uid ? each : []))
}

/** Reads each process only once, as a machine may run thousands. */
function allProcesses(): { readonly each: ProcessIdentity; readonly parent: number }[] {
  return readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null
    return stat ? { each: { pid: Number(name), startTime: stat.startTime }, parent: stat.parent } : []
  })
}

/** Returns the uid of a process; null if the process is gone. */
export function userOf(pid: number): number | null {
  return unlessFailed(() => statSync(`/proc/${pid}`).uid)
}

/** Returns the path of the file that a process executes; null if it is gone or belongs to another user. */
export function executableOf(pid: number): string | null {
  return unlessFailed(() => readlinkSync(`/proc/${pid}/exe`))
}

/** Returns an environment variable from the start of a process; null if not set or not readable. */
export function startVariableOf(pid: number, name: string): string | null {
  const start = `${name}=`
  const variables = unlessFailed(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'))
  return variables?.find((variable) => variable.startsWith(start))?.slice(start.length) ?? null
}

export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** Reads `/proc/<pid>/stat`; null if the process has exited. */
function statOf(pid: number): { readonly startTime: number; readonly parent: number } | null {
  const stat = unlessFailed(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The program name in parentheses may itself contain spaces and parentheses, so split only the text after it.
  const [state, parent, ...more] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  // A zombie has already exited.
  return stat === null || state === 'Z' ? null : { startTime: Number(more[17]), parent: Number(parent) }
}
