const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Signal that aborts as soon as one of several does. Unlike `AbortSignal.any` alone, it keeps its sources alive: Node
 * garbage-collects an `AbortSignal.timeout` that only the combined signal refers to, which then never fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals])
  sourcesOf.set(combined, signals)
  // Without a listener, Node 24 checks the sources only when queried, in their order, and may report the wrong reason.
  combined.addEventListener('abort', () => {}, { once: true })
  return combined
}
