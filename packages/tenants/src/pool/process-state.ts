import { readFileSync } from 'node:fs'

/**
 * State of a process from the kernel: `stopped` by a signal, `dead` but not reaped, `running` or waiting for a CPU,
 * `waiting` for anything else; `unknown` if there is no such process, or no /proc.
 */
export type ProcessState = 'running' | 'waiting' | 'stopped' | 'dead' | 'unknown'

const states: Readonly<Record<string, ProcessState>> = {
  R: 'running',
  T: 'stopped',
  t: 'stopped',
  Z: 'dead',
  X: 'dead',
}

export function processState(pid: number): ProcessState {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain anything; the state is the first field after it.
    return states[stat[stat.lastIndexOf(')') + 2]!] ?? 'waiting'
  } catch {
    return 'unknown'
  }
}
