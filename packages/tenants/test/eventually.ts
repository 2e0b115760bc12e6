import { setTimeout as pause } from 'node:timers/promises'

/** Wait for a condition of processes that live in real time. */
export async function eventually(condition: () => boolean, what: string, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`this did not come true: ${what}`)
    await pause(20)
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
