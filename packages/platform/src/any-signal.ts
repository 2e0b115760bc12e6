const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Returns a signal that aborts as soon as one of `signals` aborts. `AbortSignal.any` alone does not keep its sources
 * alive: Node garbage-collects an `AbortSignal.timeout` that only the combined signal refers to, and the timeout then
 * never fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals])
  sourcesOf.set(combined, signals)
  // Without a listener, Node 24 checks the sources only when `aborted` is read, in list order, and may report the wrong
  // reason.
  combined.addEventListener('abort', () => {}, { once: true })
  return combined
}
