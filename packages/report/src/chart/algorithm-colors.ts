import { palette } from '@pctodl/charts'
import { matrixAlgorithms } from './matrix-algorithms.js'

/**
 * The algorithms of the matrix keep their colour in every chart, whichever of them are shown. A tuned form has the colour of
 * its own rules: beside each other they are told apart by their names.
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

/** Colours of algorithms that are not of the matrix begin with those that are rarely met beside them. */
const FIRST_OF_OTHERS = usualAlgorithms.indexOf('static-best')

/** The algorithms in the order of the charts, each once: those of the matrix, then others as they come. */
export function chartOrder(algorithms: readonly string[]): string[] {
  const usual = matrixAlgorithms.filter((name) => algorithms.includes(name))
  return [...new Set([...usual, ...algorithms])]
}

/** One colour per algorithm, in the order given. Beyond eight algorithms colours repeat. */
export function chartColors(algorithms: readonly string[]): string[] {
  const others = algorithms.filter((name) => !usualAlgorithms.includes(withoutForm(name)))
  return algorithms.map((name) => {
    const usual = usualAlgorithms.indexOf(withoutForm(name))
    const slot = usual >= 0 ? usual : FIRST_OF_OTHERS + others.indexOf(name)
    return palette[slot % palette.length]!
  })
}
