import { palette } from '../charts.js'
import { matrixAlgorithms } from './matrix-algorithms.js'

/**
 * Algorithms with a fixed colour, which is the same in every chart. A tuned algorithm shares the colour of its untuned
 * form; labels distinguish the two.
 */
const usualAlgorithms = [
  'pctodl',
  'batchdvfs',
  'morak',
  'directcap',
  'powercap',
  'equal-split',
  'static-best',
  'plan-limit-step',
]

const withoutForm = (algorithm: string) => algorithm.replace(/-(?:tuned|original|published)$/, '')

/**
 * Algorithms that are not in the list get colours from this index on. The algorithms of these colours are rarely in the
 * same chart.
 */
const FIRST_OF_OTHERS = usualAlgorithms.indexOf('static-best')

/**
 * Sorts algorithms for charts and removes duplicates: first those of the benchmark matrix, then others in order of
 * appearance.
 */
export function chartOrder(algorithms: readonly string[]): string[] {
  const usual = matrixAlgorithms.filter((name) => algorithms.includes(name))
  return [...new Set([...usual, ...algorithms])]
}

/** Returns one colour per algorithm, in the given order. With more than eight algorithms, colours repeat. */
export function chartColors(algorithms: readonly string[]): string[] {
  const others = algorithms.filter((name) => !usualAlgorithms.includes(withoutForm(name)))
  return algorithms.map((name) => {
    const usual = usualAlgorithms.indexOf(withoutForm(name))
    const slot = usual >= 0 ? usual : FIRST_OF_OTHERS + others.indexOf(name)
    return palette[slot % palette.length]!
  })
}
