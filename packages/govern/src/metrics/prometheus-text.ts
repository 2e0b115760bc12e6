import type { Latencies } from './service-sample.js'

type Labels = Readonly<Record<string, string>>

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/**
 * Series of a server in the Prometheus text format, selected by name and labels. It skips malformed lines, and values
 * that cannot be a counter or gauge of requests.
 */
export class PrometheusText {
  readonly #series = new Map<string, { labels: Labels; value: number }[]>()

  /**
   * @param names names of the series to read, as written, e.g. `x_bucket`
   * @param wanted labels that the series must have
   */
  constructor(text: string, names: readonly string[], wanted: Labels) {
    for (const line of text.split('\n')) {
      const end = line.search(/[{\s]/)
      const name = line.slice(0, Math.max(0, end))
      if (!names.includes(name)) continue
      const [, , labelText = '', valueText] = LINE.exec(line) ?? []
      const value = Number(valueText)
      if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) continue
      const labels: Record<string, string> = {}
      for (const [, key, raw] of labelText.matchAll(LABEL)) {
        labels[key!] = raw!.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
      }
      if (Object.entries(wanted).some(([key, text]) => labels[key] !== text)) continue
      const series = this.#series.get(name) ?? []
      this.#series.set(name, series)
      series.push({ labels, value })
    }
  }

  /** Sum of the series of a name; null if there are none. */
  sum(name: string): number | null {
    return this.#series.get(name)?.reduce((sum, { value }) => sum + value, 0) ?? null
  }

  /**
   * Reads a histogram in seconds.
   *
   * @returns null if its series are missing or are not a histogram
   */
  latencies(name: string): Latencies | null {
    const byBound = new Map<number, number>()
    for (const { labels, value } of this.#series.get(`${name}_bucket`) ?? []) {
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
}
