/** Maximum number of results kept for a predictor. Beyond it, all its results are discarded. */
const KEPT = 256

const known = new WeakMap<object, Map<string, unknown>>()

/**
 * Returns the result of a search that depends only on a predictor and a question, and remembers it. Searches take long,
 * and every run of a policy on one kind of board needs the same plans. Results are frozen, because callers share them.
 *
 * @param question identifies the search among all searches with this predictor. If it contains a function, the result
 *   is not remembered
 */
export function remembered<Result>(predictor: object, question: unknown, search: () => Result): Result {
  const results = known.get(predictor) ?? new Map<string, unknown>()
  known.set(predictor, results)
  let isPlain = true
  const key = JSON.stringify(question, (_, value: unknown) => {
    isPlain &&= typeof value !== 'function'
    return typeof value === 'number' && !Number.isFinite(value) ? `${value}` : value
  })
  if (!isPlain) return search()
  if (!results.has(key)) {
    if (results.size >= KEPT) results.clear()
    results.set(key, frozen(search()))
  }
  return results.get(key) as Result
}

function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
