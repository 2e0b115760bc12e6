import type { Latencies } from './service-sample.js'

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/**
 * Parses the series with the given names from the Prometheus text format. Skips malformed lines, and values that cannot
 * be a counter or gauge of requests.
 *
 * @param names names of series as written, e.g. `x_bucket`
 */
export function parsePrometheus(text: string, names: ReadonlySet<string>): Map<string, Series[]> {
  const found = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    const end = line.search(/[{\s]/)
    if (end <= 0 || !names.has(line.slice(0, end))) continue
    const [, name, labelText, valueText] = LINE.exec(line) ?? []
    const value = Number(valueText)
    if (name === undefined || !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) continue
    const labels: Record<string, string> = {}
    for (const [, key, raw] of (labelText ?? '').matchAll(LABEL)) {
      labels[key!] = raw!.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
    }
    const series = found.get(name)
    if (series) series.push({ labels, value })
    else found.set(name, [{ labels, value }])
  }
  return found
}

/** Sum of the series with these labels; null if there are none. */
export function sumOf(series: readonly Series[] | undefined, labels: Readonly<Record<string, string>>): number | null {
  const wanted = Object.entries(labels)
  const matching = series?.filter((each) => wanted.every(([key, value]) => each.labels[key] === value)) ?? []
  return matching.length === 0 ? null : matching.reduce((sum, { value }) => sum + value, 0)
}

/**
 * Reads a histogram in seconds.
 *
 * @returns null if its series are missing or are not a histogram
 */
export function latenciesOf(
  series: ReadonlyMap<string, readonly Series[]>,
  name: string,
  labels: Readonly<Record<string, string>>,
): Latencies | null {
  const byBound = new Map<number, number>()
  for (const { labels: own, value } of series.get(`${name}_bucket`) ?? []) {
    if (!Object.entries(labels).every(([key, wanted]) => own[key] === wanted)) continue
    const bound = own['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number.parseFloat(own['le'] ?? '')
    if (!Number.isNaN(bound)) byBound.set(1000 * bound, (byBound.get(1000 * bound) ?? 0) + value)
  }
  const sum = sumOf(series.get(`${name}_sum`), labels)
  const boundsMs = [...byBound.keys()].sort((a, b) => a - b)
  const counts = boundsMs.map((bound) => byBound.get(bound)!)
  const isOne =
    boundsMs.at(-1) === Number.POSITIVE_INFINITY && counts.every((count, i) => count >= (counts[i - 1] ?? 0))
  return sum === null || !isOne ? null : { boundsMs, counts, sumMs: 1000 * sum }
}

/** Index of the largest bucket bound within an objective; -1 if there is none. */
export function bucketWithin({ boundsMs }: Latencies, objectiveMs: number): number {
  return boundsMs.findLastIndex((bound) => bound <= objectiveMs * (1 + 1e-9))
}

/** Names of the series of a histogram. */
export function histogramNames(name: string): string[] {
  return [`${name}_bucket`, `${name}_sum`]
}
