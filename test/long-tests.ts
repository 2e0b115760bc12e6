/**
 * Whether tests take their time: `PCTODL_LONG_TESTS=1`, as every week. Otherwise those that repeat what is slow (a search, a
 * process that is started and killed, a network of half a gigabyte) do so less often, with the same seed.
 */
export const longTests: boolean = Boolean(process.env['PCTODL_LONG_TESTS'])

/** How often to repeat: `often` in long tests, else a quarter of it, or as often as told. */
export function cases(often: number, usually: number = Math.ceil(often / 4)): number {
  return longTests ? often : usually
}

/** All of them in long tests, else those that are named. */
export function someOf<T>(all: readonly T[], ...usually: readonly T[]): readonly T[] {
  return longTests ? all : all.filter((each) => usually.includes(each))
}

/**
 * Number in an environment variable, for example the seed of a test, or the usual one.
 *
 * @throws if the variable is no number: a test that repeats something not-a-number times would pass
 */
export function numberIn(name: string, usual: number): number {
  const number = Number(process.env[name] ?? usual)
  if (!Number.isFinite(number)) throw new Error(`${name}: got '${process.env[name]}', expected a number`)
  return number
}
