import { palette } from '@pctodl/charts'

/** The five algorithms of the matrix keep their colour in every chart, whichever of them are shown. */
const usualAlgorithms = ['pctodl', 'batchdvfs', 'morak', 'directcap', 'powercap']

/** The algorithms in the order of the charts, each once: the five of the matrix, then others as they come. */
export function chartOrder(algorithms: readonly string[]): string[] {
  const usual = usualAlgorithms.filter((name) => algorithms.includes(name))
  return [...new Set([...usual, ...algorithms])]
}

/** One colour per algorithm, in the order given. Beyond seven algorithms colours repeat. */
export function chartColors(algorithms: readonly string[]): string[] {
  const others = algorithms.filter((name) => !usualAlgorithms.includes(name))
  return algorithms.map((name) => {
    const usual = usualAlgorithms.indexOf(name)
    const slot = usual >= 0 ? usual : usualAlgorithms.length + others.indexOf(name)
    return palette[slot % palette.length]!
  })
}
