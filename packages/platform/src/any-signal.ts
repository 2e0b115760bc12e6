const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Returns a signal that aborts as soon as one of `signals` aborts. `AbortSignal.any` alone does not keep these signals
 * alive: if only the combined signal refers to an `AbortSignal.timeout`, Node garbage-collects the timeout and it never
 * fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals])
  sourcesOf.set(combined, signals)
  // Without a listener, Node 24 checks the signals only when `aborted` is read, in the order of the list, and may then
  // report the wrong reason.
  combined.addEventListener('abort', () => {}, { once: true })
  return combined
}
