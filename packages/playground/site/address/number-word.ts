/** The number that a word of an address says; null where there is none, or one that makes no sense. */
export function numberWord(words: URLSearchParams, word: string, accepts: (value: number) => boolean): number | null {
  const text = words.get(word)
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && accepts(value) ? value : null
}
