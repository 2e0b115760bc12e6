export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/**
 * Series of the given names in the Prometheus text format. Values that are not finite are left out, as are lines that are none.
 *
 * @param names of series as written, e.g. `x_bucket`
 */
export function parsePrometheus(text: string, names: ReadonlySet<string>): Map<string, Series[]> {
  const found = new Map<string, Series[]>()
  for (const line of text.split('\n')) {
    const end = line.search(/[{\s]/)
    if (end <= 0 || !names.has(line.slice(0, end))) continue
    const [, name, labelText, valueText] = LINE.exec(line) ?? []
    const value = Number(valueText)
    if (name === undefined || !Number.isFinite(value)) continue
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

/** Sum of the series that carry these labels; null where there are none. */
export function sumOf(series: readonly Series[] | undefined, labels: Readonly<Record<string, string>>): number | null {
  const wanted = Object.entries(labels)
  const matching = series?.filter((each) => wanted.every(([key, value]) => each.labels[key] === value)) ?? []
  return matching.length === 0 ? null : matching.reduce((sum, { value }) => sum + value, 0)
}

/** A cumulative histogram; bounds ascend, the last is Infinity. */
export interface Histogram {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

/** @returns null where the series of the histogram are missing */
export function histogramOf(
  series: ReadonlyMap<string, readonly Series[]>,
  name: string,
  labels: Readonly<Record<string, string>>,
): Histogram | null {
  const byBound = new Map<number, number>()
  for (const { labels: own, value } of series.get(`${name}_bucket`) ?? []) {
    if (!Object.entries(labels).every(([key, wanted]) => own[key] === wanted)) continue
    const bound = own['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(own['le'])
    if (!Number.isNaN(bound)) byBound.set(bound, (byBound.get(bound) ?? 0) + value)
  }
  const sum = sumOf(series.get(`${name}_sum`), labels)
  if (byBound.size === 0 || sum === null) return null
  const bounds = [...byBound.keys()].sort((a, b) => a - b)
  return { bounds, counts: bounds.map((bound) => byBound.get(bound)!), sum }
}

/** Names of the series of a histogram. */
export function histogramNames(name: string): string[] {
  return [`${name}_bucket`, `${name}_sum`, `${name}_count`]
}
