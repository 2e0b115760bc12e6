import { systemClock } from '@pctodl/platform'
import { isRunning, type ProcessIdentity } from './process-identity.js'

const POLL_MS = 20

/** Waits for a process to end. Returns whether it ended within `durationMs`. */
export async function endsWithin(identity: ProcessIdentity, durationMs: number): Promise<boolean> {
  const deadlineMs = systemClock.now() + durationMs
  while (isRunning(identity)) {
    if (systemClock.now() >= deadlineMs) return false
    await systemClock.sleep(POLL_MS)
  }
  return true
}

/** Ends one process with SIGTERM, then SIGKILL. `not-permitted`: it belongs to another user. */
export async function endProcess(
  identity: ProcessIdentity,
  graceMs: number,
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
    if (await endsWithin(identity, graceMs)) return outcome
  }
  return 'survived'
}
