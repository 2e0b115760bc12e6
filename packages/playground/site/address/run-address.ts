import {
  type CapFrom,
  type Disturbance,
  disturbanceKinds,
  firstRun,
  policyNames,
  type RunQuestion,
  WINDOW_S,
} from '../run/run-question.js'

/** The Run room's state as the words of an address. */
export function runWords(question: RunQuestion): URLSearchParams {
  const { board, model, caps, policies, seed, durationS, disturbances } = question
  const words = new URLSearchParams()
  words.set('gpu', board)
  words.set('model', model)
  words.set('caps', caps.map(({ powerCapW, atS }) => (atS === 0 ? `${powerCapW}` : `${powerCapW}@${atS}`)).join(','))
  words.set('policies', policies.join(','))
  if (seed !== firstRun.seed) words.set('seed', String(seed))
  if (durationS !== firstRun.durationS) words.set('seconds', String(durationS))
  if (disturbances.length > 0) words.set('events', disturbances.map(({ kind, atS }) => `${kind}@${atS}`).join(','))
  return words
}

/** The state that an address names. What is absent or makes no sense is as usual. */
export function runOfWords(words: URLSearchParams): RunQuestion {
  const integer = (name: string, least: number, usual: number) => {
    const text = words.get(name)
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text)
    return Number.isSafeInteger(value) && value >= least ? value : usual
  }
  const listed = (words.get('policies') ?? '').split(',')
  const policies = policyNames.filter((name) => listed.includes(name))
  return {
    board: words.get('gpu') ?? firstRun.board,
    model: words.get('model') ?? firstRun.model,
    caps: capsOf(words.get('caps')),
    policies: policies.length > 0 ? policies : firstRun.policies,
    seed: integer('seed', 0, firstRun.seed),
    durationS: Math.min(3600, Math.ceil(integer('seconds', 1, firstRun.durationS) / WINDOW_S) * WINDOW_S),
    disturbances: disturbancesOf(words.get('events')),
  }
}

/** `what@seconds` */
function partsOf(text: string | null): (readonly [what: string, atS: number])[] {
  return (text ?? '').split(',').flatMap((part) => {
    const [what = '', at] = part.split('@')
    const atS = at === undefined ? 0 : Number(at)
    return what !== '' && atS >= 0 && atS < Infinity ? [[what, atS] as const] : []
  })
}

function capsOf(text: string | null): readonly CapFrom[] {
  const caps = partsOf(text)
    .map(([watts, atS]) => ({ powerCapW: Number(watts), atS }))
    .filter(({ powerCapW }) => powerCapW > 0 && powerCapW < Infinity)
  const ascending = caps.every(({ atS }, i) => (i === 0 ? atS === 0 : atS > caps[i - 1]!.atS))
  return caps.length > 0 && ascending ? caps : firstRun.caps
}

function disturbancesOf(text: string | null): readonly Disturbance[] {
  return partsOf(text).flatMap(([what, atS]) => {
    const kind = disturbanceKinds.find((known) => known === what)
    return kind === undefined ? [] : [{ kind, atS }]
  })
}
