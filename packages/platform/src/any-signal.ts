const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Aborts as soon as one of several signals does. Unlike `AbortSignal.any` alone it keeps them alive: Node forgets an
 * `AbortSignal.timeout` that nothing but the combined signal refers to, and then it never fires.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const combined = AbortSignal.any([...signals])
  sourcesOf.set(combined, signals)
  // Node 24 asks the sources when it is asked itself, in their order, unless somebody listens: it would name the wrong one.
  combined.addEventListener('abort', () => {}, { once: true })
  return combined
}
