import { type MeanInterval, meanInterval, pairedTest, SeededRandom } from '@pctodl/numerics'

/** Runs an algorithm with a seeded random source and returns its result. */
export type Run = (random: SeededRandom) => number

/** The mean gain of the second algorithm over the first on the same seeds, and the p-value of the difference. */
export function gainOf(first: Run, second: Run, seeds: number): { gain: MeanInterval; pValue: number | null } {
  const runs = (run: Run) => Array.from({ length: seeds }, (_, seed) => run(new SeededRandom(seed)))
  const [a, b] = [runs(first), runs(second)]
  return { gain: meanInterval(b.map((value, i) => value - a[i]!)), pValue: pairedTest(b, a) }
}
