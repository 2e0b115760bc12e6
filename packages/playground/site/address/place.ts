import { firstSubject, type StorySubject } from '../learn/story.js'
import { firstPlan, type PlanQuestion } from '../plan/plan-question.js'
import { firstServicesQuestion, type ServicesQuestion } from '../plan-services/services-question.js'
import { firstRun, type RunQuestion } from '../run/run-question.js'
import { firstServicesRun, type ServicesRunQuestion } from '../run-services/services-run-question.js'
import { learnWords, planWords, runWords, servicesPlanWords, servicesRunWords } from './vocabularies.js'
import type { Vocabulary } from './words.js'

/** The rooms of the page, each with the question that it shows. */
export interface Rooms {
  readonly 'run/services': ServicesRunQuestion
  readonly run: RunQuestion
  readonly 'plan/services': ServicesQuestion
  readonly plan: PlanQuestion
  readonly learn: StorySubject
}

export type RoomName = keyof Rooms

/**
 * The room that is shown, and the questions of all rooms. An address contains only the question of the room that is
 * shown.
 */
export interface Place extends Rooms {
  readonly room: RoomName
}

const vocabularies: { readonly [Name in RoomName]: Vocabulary<Rooms[Name]> } = {
  'run/services': servicesRunWords,
  run: runWords,
  'plan/services': servicesPlanWords,
  plan: planWords,
  learn: learnWords,
}

const firstPlace: Place = {
  room: 'run/services',
  'run/services': firstServicesRun,
  run: firstRun,
  'plan/services': firstServicesQuestion,
  plan: firstPlan,
  learn: firstSubject,
}

export const roomNames = Object.keys(vocabularies) as readonly RoomName[]

/**
 * Returns the place that an address names, and the problems found in the address. Malformed parts are replaced by
 * defaults.
 *
 * @param hash fragment of the address, with or without its `#`
 */
export function placeOf(hash: string): Place & { readonly problems: readonly string[] } {
  const [, name = '', query = ''] = /^#?\/?([^?]*)(?:\?(.*))?$/s.exec(hash) ?? []
  const room = roomNames.find((known) => known === name)
  if (room === undefined) {
    const problems =
      name === '' && query === '' ? [] : [`there is no room ${quoted(name)}; known: ${roomNames.join(', ')}`]
    return { ...firstPlace, problems }
  }
  const { question, problems } = readWords(vocabularies[room] as Vocabulary<object>, firstPlace[room], query)
  return { ...firstPlace, room, [room]: question, problems }
}

function readWords<Question extends object>(vocabulary: Vocabulary<Question>, defaults: Question, query: string) {
  const words = new URLSearchParams(query)
  const problems: string[] = []
  let question = defaults
  for (const name of new Set(words.keys())) {
    if (!Object.hasOwn(vocabulary, name)) {
      problems.push(`${quoted(name)} is no word of this room's links; known: ${Object.keys(vocabulary).join(', ')}`)
    }
    if (words.getAll(name).length > 1) problems.push(`${quoted(name)} is given more than once; the first counts`)
  }
  const read = new Map<string, Partial<Question>>()
  for (const [name, word] of Object.entries(vocabulary)) {
    const text = words.get(name)
    if (text === null) continue
    const part = word.read(text)
    if (part) read.set(name, part)
    else problems.push(`${name}: got ${quoted(text)}, expected ${word.expected}; the default is used`)
    question = { ...question, ...part }
  }
  for (const [name, part] of read) {
    const isDefault = JSON.stringify({ ...defaults, ...part }) === JSON.stringify(defaults)
    if (!isDefault && vocabulary[name]!.write(question) === undefined) {
      problems.push(`${name} has no effect beside the other words`)
    }
  }
  return { question, problems }
}

function quoted(text: string): string {
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`
}

/** Returns the fragment of a place's address, including the `#`. */
export function writePlace(place: Place): string {
  const question = place[place.room]
  const words = new URLSearchParams()
  for (const [name, { write }] of Object.entries(vocabularies[place.room] as Vocabulary<object>)) {
    const text = write(question)
    if (text !== undefined) words.set(name, text)
  }
  // Commas, colons and at signs are allowed in fragments, and unescaped they are easier to read.
  const text = words.toString()
  return `#/${place.room}?${text.replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}`
}
