import { type MeanInterval, meanInterval, pairedTest, SeededRandom } from '@pctodl/numerics'

/** A figure of one run, drawn from a seeded source. */
export type Run = (random: SeededRandom) => number

/** What the second algorithm gains over the first on the same seeds, and the chance to see so much where there is no difference. */
export function gainOf(first: Run, second: Run, seeds: number): { gain: MeanInterval; pValue: number | null } {
  const runs = (run: Run) => Array.from({ length: seeds }, (_, seed) => run(new SeededRandom(seed)))
  const [a, b] = [runs(first), runs(second)]
  return { gain: meanInterval(b.map((value, i) => value - a[i]!)), pValue: pairedTest(b, a) }
}
