import type { Latencies } from './service-sample.js'

type Labels = Readonly<Record<string, string>>

const LINE = /([a-zA-Z_:][\w:]*)(?:\{((?:[^"}\n]|"(?:[^"\\\n]|\\.)*")*)\})?[ \t]+(\S+)/y
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/**
 * Series of a server in the Prometheus text format, selected by labels. It skips malformed lines, and values that
 * cannot be a counter or gauge of requests. Only lines that begin with the requested name are parsed, because a server
 * may export hundreds of others.
 */
export class PrometheusText {
  readonly #text: string
  readonly #wanted: readonly [string, string][]

  /** @param wanted labels that the series must have */
  constructor(text: string, wanted: Labels) {
    this.#text = text
    this.#wanted = Object.entries(wanted)
  }

  /** Sum of the series of a name; null if there are none. */
  sum(name: string): number | null {
    const series = this.#series(name)
    return series.length === 0 ? null : series.reduce((sum, { value }) => sum + value, 0)
  }

  /**
   * Reads a histogram in seconds.
   *
   * @returns null if its series are missing or are not a histogram
   */
  latencies(name: string): Latencies | null {
    const byBound = new Map<number, number>()
    for (const { labels, value } of this.#series(`${name}_bucket`)) {
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number.parseFloat(labels['le'] ?? '')
      if (!Number.isNaN(bound)) byBound.set(1000 * bound, (byBound.get(1000 * bound) ?? 0) + value)
    }
    const sum = this.sum(`${name}_sum`)
    const boundsMs = [...byBound.keys()].sort((a, b) => a - b)
    const counts = boundsMs.map((bound) => byBound.get(bound)!)
    const ascends = counts.every((count, i) => count >= (counts[i - 1] ?? 0))
    if (sum === null || boundsMs.at(-1) !== Number.POSITIVE_INFINITY || !ascends) return null
    return { boundsMs, counts, sumMs: 1000 * sum }
  }

  #series(name: string): { labels: Labels; value: number }[] {
    const found: { labels: Labels; value: number }[] = []
    for (let at = this.#text.indexOf(name); at >= 0; at = this.#text.indexOf(name, at + 1)) {
      if (at > 0 && this.#text[at - 1] !== '\n') continue
      LINE.lastIndex = at
      const [, own, labelText = '', valueText] = LINE.exec(this.#text) ?? []
      const value = Number(valueText)
      if (own !== name || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) continue
      const labels: Record<string, string> = {}
      for (const [, key, raw] of labelText.matchAll(LABEL)) {
        labels[key!] = raw!.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
      }
      if (this.#wanted.every(([key, text]) => labels[key] === text)) found.push({ labels, value })
    }
    return found
  }
}
