import { palette } from '../charts.js'
import { matrixAlgorithms } from './matrix-algorithms.js'

/**
 * These algorithms have the same colour in every chart, whichever others are shown. A tuned form shares the colour of
 * its untuned form; the names tell them apart.
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

const withoutForm = (algorithm: string) => algorithm.replace(/-(?:tuned|original)$/, '')

/** Other algorithms get the colours of algorithms that rarely share a chart with them. */
const FIRST_OF_OTHERS = usualAlgorithms.indexOf('static-best')

/**
 * Sorts algorithms for charts, without duplicates: the matrix algorithms first, then others in order of appearance.
 */
export function chartOrder(algorithms: readonly string[]): string[] {
  const usual = matrixAlgorithms.filter((name) => algorithms.includes(name))
  return [...new Set([...usual, ...algorithms])]
}

/** Returns one colour per algorithm, in the given order. Colours repeat beyond eight algorithms. */
export function chartColors(algorithms: readonly string[]): string[] {
  const others = algorithms.filter((name) => !usualAlgorithms.includes(withoutForm(name)))
  return algorithms.map((name) => {
    const usual = usualAlgorithms.indexOf(withoutForm(name))
    const slot = usual >= 0 ? usual : FIRST_OF_OTHERS + others.indexOf(name)
    return palette[slot % palette.length]!
  })
}
