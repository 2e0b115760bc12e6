/** The two ends of a channel, as far as turns need them. */
interface Turns {
  readonly port1: { onmessage: (() => void) | null }
  readonly port2: { postMessage(message: null): void }
}

const waiting: (() => void)[] = []
let turns: Turns | undefined

/** Resolves in a task of its own, after all that was posted before: what else has arrived is seen first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve)
      return
    }
    // Timers of pages wait for four milliseconds at least; messages do not.
    if (!turns) {
      turns = new MessageChannel() as unknown as Turns
      turns.port1.onmessage = () => waiting.shift()?.()
    }
    waiting.push(resolve)
    turns.port2.postMessage(null)
  })
}
