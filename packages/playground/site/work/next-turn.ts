/** Resolves in a task of its own, after all that was posted before: what else has arrived is seen first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    channel.port2.postMessage(null)
  })
}

const waiting: (() => void)[] = []
// Timers of pages wait for four milliseconds at least; messages do not.
const channel = new MessageChannel()
channel.port1.onmessage = () => waiting.shift()?.()
