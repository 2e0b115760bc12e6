import { palette } from '../charts.js'
import { matrixAlgorithms } from './matrix-algorithms.js'

/**
 * Algorithms of the matrix have the same colour in every chart, whichever are shown. A tuned form has the colour of its
 * untuned form; their names tell them apart.
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

/** Other algorithms start with the colours that rarely occur beside them. */
const FIRST_OF_OTHERS = usualAlgorithms.indexOf('static-best')

/** The algorithms in chart order, without duplicates: those of the matrix, then others in order of appearance. */
export function chartOrder(algorithms: readonly string[]): string[] {
  const usual = matrixAlgorithms.filter((name) => algorithms.includes(name))
  return [...new Set([...usual, ...algorithms])]
}

/** One colour per algorithm, in the given order. Beyond eight algorithms colours repeat. */
export function chartColors(algorithms: readonly string[]): string[] {
  const others = algorithms.filter((name) => !usualAlgorithms.includes(withoutForm(name)))
  return algorithms.map((name) => {
    const usual = usualAlgorithms.indexOf(withoutForm(name))
    const slot = usual >= 0 ? usual : FIRST_OF_OTHERS + others.indexOf(name)
    return palette[slot % palette.length]!
  })
}
