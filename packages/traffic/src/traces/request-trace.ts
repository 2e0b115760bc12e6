/** Requests of a public trace. */
export interface RequestTrace {
  /** Arrival times in order, counted from the first one, ms: the input of `replayedTimes`. */
  readonly timesMs: Float64Array
  /** Prompt tokens of each request. */
  readonly promptTokens: Float64Array
  /** Answer tokens of each request. */
  readonly outputTokens: Float64Array
}

/** Sorts requests by time. Those at the same time stay in the order of the file. */
export function traceOf(timesMs: Float64Array, promptTokens: Float64Array, outputTokens: Float64Array): RequestTrace {
  const order = Uint32Array.from(timesMs, (_, i) => i)
  let ordered = true
  for (let i = 1; i < timesMs.length && ordered; i++) ordered = timesMs[i]! >= timesMs[i - 1]!
  if (!ordered) order.sort((a, b) => timesMs[a]! - timesMs[b]! || a - b)
  const inOrder = (column: Float64Array) => Float64Array.from(order, (i) => column[i]!)
  const firstMs = timesMs[order[0]!]!
  return {
    timesMs: Float64Array.from(order, (i) => timesMs[i]! - firstMs),
    promptTokens: inOrder(promptTokens),
    outputTokens: inOrder(outputTokens),
  }
}
