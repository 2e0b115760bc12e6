import { type Clock, systemClock } from '@pctodl/platform'
import { isRunning, type ProcessIdentity } from './process-identity.js'

const POLL_MS = 20

/** Waits for a process to end. Returns whether it ended within `durationMs`. */
export async function endsWithin(
  identity: ProcessIdentity,
  durationMs: number,
  clock: Clock = systemClock,
): Promise<boolean> {
  const deadlineMs = clock.now() + durationMs
  while (isRunning(identity)) {
    if (clock.now() >= deadlineMs) return false
    await clock.sleep(POLL_MS)
  }
  return true
}

/**
 * Ends one process, identified by pid and start time, first with SIGTERM, then with SIGKILL.
 * @returns how it ended; `not-permitted` if the process belongs to another user
 */
export async function endProcess(
  identity: ProcessIdentity,
  graceMs: number,
  clock: Clock = systemClock,
): Promise<'ended' | 'killed' | 'survived' | 'not-permitted'> {
  for (const [signal, outcome] of [
    ['SIGTERM', 'ended'],
    ['SIGKILL', 'killed'],
  ] as const) {
    if (!isRunning(identity)) return 'ended'
    try {
      process.kill(identity.pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPERM') return 'not-permitted'
    }
    if (await endsWithin(identity, graceMs, clock)) return outcome
  }
  return 'survived'
}
