/** The part of a `MessageChannel` that this module uses. */
interface Turns {
  readonly port1: { onmessage: (() => void) | null }
  readonly port2: { postMessage(message: null): void }
}

const waiting: (() => void)[] = []
let turns: Turns | undefined

/** Resolves in a separate task, after all messages posted earlier have been handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve)
      return
    }
    // Browsers delay nested timers by at least four milliseconds, but not messages.
    if (!turns) {
      turns = new MessageChannel() as unknown as Turns
      turns.port1.onmessage = () => waiting.shift()?.()
    }
    waiting.push(resolve)
    turns.port2.postMessage(null)
  })
}
