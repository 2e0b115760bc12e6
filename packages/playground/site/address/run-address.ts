import {
  type CapFrom,
  type Disturbance,
  disturbanceKinds,
  firstRun,
  policyNames,
  type RunQuestion,
  WINDOW_S,
} from '../run/run-question.js'
import { numberWord } from './number-word.js'

/** The Run room's state as the words of an address. */
export function runWords(question: RunQuestion): URLSearchParams {
  const { board, model, caps, policies, seed, durationS, disturbances } = question
  const words = new URLSearchParams()
  words.set('gpu', board)
  words.set('model', model)
  words.set('caps', capsWord(caps))
  words.set('policies', policies.join(','))
  if (seed !== firstRun.seed) words.set('seed', String(seed))
  if (durationS !== firstRun.durationS) words.set('seconds', String(durationS))
  if (disturbances.length > 0) words.set('events', disturbances.map(({ kind, atS }) => `${kind}@${atS}`).join(','))
  return words
}

/** The state that an address names. What is absent or makes no sense is as usual. */
export function runOfWords(words: URLSearchParams): RunQuestion {
  const listed = (words.get('policies') ?? '').split(',')
  const policies = policyNames.filter((name) => listed.includes(name))
  return {
    board: words.get('gpu') ?? firstRun.board,
    model: words.get('model') ?? firstRun.model,
    caps: capsOf(words.get('caps')) ?? firstRun.caps,
    policies: policies.length > 0 ? policies : firstRun.policies,
    seed: numberWord(words, 'seed', (value) => Number.isSafeInteger(value) && value >= 0) ?? firstRun.seed,
    durationS: durationOf(words, firstRun.durationS),
    disturbances: disturbancesOf(words.get('events')),
  }
}

/** More than anybody does to a run by hand. */
const MAX_PARTS = 200

/** `what@seconds` */
function partsOf(text: string | null): (readonly [what: string, atS: number])[] {
  return (text ?? '').split(',', MAX_PARTS).flatMap((part) => {
    const [what = '', at] = part.split('@')
    const atS = at === undefined ? 0 : Number(at)
    return what !== '' && atS >= 0 && atS < Infinity ? [[what, atS] as const] : []
  })
}

/** Whole windows, an hour at most, s. */
export function durationOf(words: URLSearchParams, usualS: number): number {
  const seconds = numberWord(words, 'seconds', (value) => Number.isSafeInteger(value) && value >= 1) ?? usualS
  return Math.min(3600, Math.ceil(seconds / WINDOW_S) * WINDOW_S)
}

/** Caps as a word: `200`, `200,150@40`. */
export function capsWord(caps: readonly CapFrom[]): string {
  return caps.map(({ powerCapW, atS }) => (atS === 0 ? `${powerCapW}` : `${powerCapW}@${atS}`)).join(',')
}

/** @returns undefined for a word that names none, or not in order */
export function capsOf(text: string | null): readonly CapFrom[] | undefined {
  const caps = partsOf(text)
    .map(([watts, atS]) => ({ powerCapW: Number(watts), atS }))
    .filter(({ powerCapW }) => powerCapW > 0 && powerCapW < Infinity)
  const ascending = caps.every(({ atS }, i) => (i === 0 ? atS === 0 : atS > caps[i - 1]!.atS))
  return caps.length > 0 && ascending ? caps : undefined
}

export function disturbancesOf(text: string | null): readonly Disturbance[] {
  return partsOf(text).flatMap(([what, atS]) => {
    const kind = disturbanceKinds.find((known) => known === what)
    return kind === undefined ? [] : [{ kind, atS }]
  })
}

/** When something happens, s. */
export function timesOf(text: string | null, what: string): readonly number[] {
  return partsOf(text).flatMap(([name, atS]) => (name === what ? [atS] : []))
}
