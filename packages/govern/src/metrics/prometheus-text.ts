/** Histogram of latencies: cumulative counts by upper bound. Bounds ascend; the last is Infinity. */
export interface Latencies {
  readonly boundsMs: readonly number[]
  readonly counts: readonly number[]
  readonly sumMs: number
}

type Labels = Readonly<Record<string, string>>

interface Series {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** Each takes time in proportion to the text, also if a line is malformed. */
const LABEL =
  /[ \t]*[{,][ \t]*(?:([a-zA-Z_]\w*|"[^"\\\n]*(?:\\.[^"\\\n]*)*")[ \t]*=[ \t]*"([^"\\\n]*(?:\\.[^"\\\n]*)*)"[ \t]*)?/y
const VALUE = /[ \t]*(?:\}[ \t]*|[ \t])(\S+)/y

/** Sum of the series of a name that have the labels; null if there are none. */
export function sumOf(text: string, name: string, wanted: Labels): number | null {
  const series = seriesOf(text, name, wanted)
  return series.length === 0 ? null : series.reduce((sum, { value }) => sum + value, 0)
}

/** Reads a histogram in seconds; null if its series are missing or are not a histogram. */
export function latenciesOf(text: string, name: string, wanted: Labels): Latencies | null {
  const byBound = new Map<number, number>()
  for (const { labels, value } of seriesOf(text, `${name}_bucket`, wanted)) {
    const le = labels.get('le')
    const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number.parseFloat(le ?? '')
    if (!Number.isNaN(bound)) byBound.set(1000 * bound, (byBound.get(1000 * bound) ?? 0) + value)
  }
  const sum = sumOf(text, `${name}_sum`, wanted)
  const boundsMs = [...byBound.keys()].sort((a, b) => a - b)
  const counts = boundsMs.map((bound) => byBound.get(bound)!)
  const ascends = counts.every((count, i) => count >= (counts[i - 1] ?? 0))
  if (sum === null || boundsMs.at(-1) !== Number.POSITIVE_INFINITY || !ascends) return null
  return { boundsMs, counts, sumMs: 1000 * sum }
}

/**
 * Malformed lines are skipped, and values that cannot be a counter or gauge of requests. Only lines that begin with the
 * name, which may be in quotes within the braces, are parsed, because a server may export hundreds of others.
 */
function seriesOf(text: string, name: string, wanted: Labels): Series[] {
  const found: Series[] = []
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const isQuoted = text[at - 1] === '"'
    let before = lastToken(text, isQuoted ? at - 1 : at)
    if (isQuoted && text[before] === '{') before = lastToken(text, before)
    if (before >= 0 && text[before] !== '\n') continue
    const labels = new Map<string, string>()
    let end = at + name.length + (isQuoted ? 1 : 0)
    LABEL.lastIndex = end
    for (let label = LABEL.exec(text); label !== null; label = LABEL.exec(text)) {
      end = LABEL.lastIndex
      const [, key, value = ''] = label
      if (key) labels.set(plain(key.replace(/^"|"$/g, '')), plain(value))
    }
    VALUE.lastIndex = end
    const value = Number(VALUE.exec(text)?.[1])
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) continue
    if (Object.entries(wanted).every(([key, wantedText]) => labels.get(key) === wantedText))
      found.push({ labels, value })
  }
  return found
}

/** Index of the last character before a place that is no blank. */
function lastToken(text: string, at: number): number {
  let before = at - 1
  while (text[before] === ' ' || text[before] === '\t') before--
  return before
}

function plain(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
}
