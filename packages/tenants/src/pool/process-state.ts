import { readFileSync } from 'node:fs'

/**
 * State of a process as the kernel reports it. `running`: it runs or waits for a CPU. `waiting`: it waits for anything
 * else. `stopped`: a signal stopped it. `dead`: it has ended but was not reaped. `unknown`: there is no such process,
 * or no /proc.
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
