/** Returns a function that computes its result once for each list of arguments. The arguments must be plain JSON. */
export function oncePerCall<Arguments extends readonly unknown[], Result>(
  compute: (...args: Arguments) => Result,
): (...args: Arguments) => Result {
  const known = new Map<string, Result>()
  return (...args) => {
    const key = JSON.stringify(args)
    if (!known.has(key)) known.set(key, compute(...args))
    return known.get(key)!
  }
}
