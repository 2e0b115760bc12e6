/** A figure of a text that moved: the line that it stands in now, and new over old. */
export interface ChangedFigure {
  readonly line: string
  readonly ratio: number
}

/** A figure within a factor of this is noise on a machine that does other things too. */
const NOISE_FACTOR = 1.25

const figure = /\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?/g

/** Figures of lines that say the same in words, where they differ by more than noise. Lines without a partner are left out. */
export function changedFigures(before: string, now: string): ChangedFigure[] {
  const known = new Map<string, string[]>()
  for (const line of before.split('\n')) {
    const words = wordsOf(line)
    known.set(words, [...(known.get(words) ?? []), line])
  }
  const changes: ChangedFigure[] = []
  for (const line of now.split('\n')) {
    // The same words in several lines are paired in order.
    const partner = known.get(wordsOf(line))?.shift()
    if (partner === undefined) continue
    const [old, fresh] = [figuresOf(partner), figuresOf(line)]
    const ratios = fresh.map((value, i) => value / (old[i] ?? Number.NaN)).filter((ratio) => isChange(ratio))
    const [first] = ratios.sort((a, b) => Math.abs(Math.log(b)) - Math.abs(Math.log(a)))
    if (first !== undefined) changes.push({ line: line.trim(), ratio: first })
  }
  return changes
}

function isChange(ratio: number): boolean {
  return Number.isFinite(ratio) && ratio > 0 && (ratio > NOISE_FACTOR || ratio < 1 / NOISE_FACTOR)
}

function wordsOf(line: string): string {
  return line
    .replace(figure, '#')
    .replace(/[\s│|]+/g, ' ')
    .trim()
}

function figuresOf(line: string): number[] {
  return [...line.matchAll(figure)].map(([text]) => Number(text.replaceAll(',', '')))
}
