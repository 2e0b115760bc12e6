import { readFileSync } from 'node:fs'

/**
 * State of a process as the kernel reports it. `stopped`: by a signal. `dead`: ended but not reaped. `running`: also if
 * it waits for a CPU. `waiting`: for anything else. `unknown`: no such process, or no /proc.
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
    // The command name is in parentheses and may contain any character. The state is the first field after it.
    return states[stat[stat.lastIndexOf(')') + 2]!] ?? 'waiting'
  } catch {
    return 'unknown'
  }
}
