/** What a process that ends still has to put back. */
export interface Guarded {
  release(): Promise<void>
  /** Without an event loop. Must not throw. */
  releaseAtExit(): void
}

const guarded = new Set<Guarded>()
let ending = false
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * While anything is guarded, the end of this process releases it: its last statement, an uncaught exception,
 * `process.exit`, and SIGINT, SIGTERM and SIGHUP where the program does not handle them itself.
 */
export function guard(entry: Guarded): void {
  if (guarded.size === 0) {
    process.on('exit', onExit)
    for (const signal of signals) process.on(signal, onSignal)
  }
  guarded.add(entry)
}

export function unguard(entry: Guarded): void {
  if (!guarded.delete(entry) || guarded.size > 0) return
  process.off('exit', onExit)
  for (const signal of signals) process.off(signal, onSignal)
}

/** Whether a signal is about to end this process. */
export function isEnding(): boolean {
  return ending
}

function onExit(): void {
  for (const entry of guarded) entry.releaseAtExit()
}

function onSignal(signal: NodeJS.Signals): void {
  // A program with a handler of its own decides what the signal means; whatever it does, it ends through `exit`.
  if (process.listenerCount(signal) > 1 + yieldingListeners()) return
  ending = true
  const end = () => {
    process.off(signal, onSignal)
    process.kill(process.pid, signal)
  }
  // What fails here stays in the journal, and the watchdog tries again.
  void Promise.allSettled([...guarded].map((entry) => entry.release())).then(end)
}

/**
 * Listeners of signal-exit, which execa puts up while a child runs: they leave the end to whoever else listens, so they must
 * not count as somebody to whom we leave it.
 */
function yieldingListeners(): number {
  const emitter = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for('signal-exit emitter')]
  return (emitter as { readonly count: number } | undefined)?.count ?? 0
}
