import type { StorySubject } from '../learn/story.js'
import type { PlanQuestion } from '../plan/plan-question.js'
import type { ServicesQuestion } from '../plan-services/services-question.js'
import type { RunQuestion } from '../run/run-question.js'
import type { ServicesRunQuestion } from '../run-services/services-run-question.js'
import { learnOfWords, learnWords } from './learn-address.js'
import { planOfWords, planWords } from './plan-address.js'
import { runOfWords, runWords } from './run-address.js'
import { servicesPlanOfWords, servicesPlanWords } from './services-plan-address.js'
import { servicesRunOfWords, servicesRunWords } from './services-run-address.js'

/** Rooms, and what each holds. */
export interface Rooms {
  readonly plan: PlanQuestion
  readonly 'plan/services': ServicesQuestion
  readonly run: RunQuestion
  readonly 'run/services': ServicesRunQuestion
  readonly learn: StorySubject
}

export type RoomName = keyof Rooms

/** Where somebody is, and with what: an address says what is in its own room. */
export interface Place extends Rooms {
  readonly room: RoomName
}

const addresses: {
  readonly [Name in RoomName]: {
    readonly write: (question: Rooms[Name]) => URLSearchParams
    readonly read: (words: URLSearchParams) => Rooms[Name]
  }
} = {
  plan: { write: planWords, read: planOfWords },
  'plan/services': { write: servicesPlanWords, read: servicesPlanOfWords },
  run: { write: runWords, read: runOfWords },
  'run/services': { write: servicesRunWords, read: servicesRunOfWords },
  learn: { write: learnWords, read: learnOfWords },
}

export const roomNames = Object.keys(addresses) as readonly RoomName[]

/** @param hash of the address, with or without its `#` */
export function placeOf(hash: string): Place {
  const [, name, text = ''] = /^#?\/?([^?]*)(?:\?(.*))?$/s.exec(hash) ?? []
  const room = roomNames.find((known) => known === name) ?? 'plan'
  const words = new URLSearchParams(text)
  const none = new URLSearchParams()
  const question = <Name extends RoomName>(of: Name): Rooms[Name] => addresses[of].read(of === room ? words : none)
  return {
    room,
    plan: question('plan'),
    'plan/services': question('plan/services'),
    run: question('run'),
    'run/services': question('run/services'),
    learn: question('learn'),
  }
}

/** The address of a place, from its `#` on. */
export function writePlace(place: Place): string {
  const write = addresses[place.room].write as (question: Rooms[RoomName]) => URLSearchParams
  // Commas, colons and at signs are allowed in fragments, and read better.
  const words = write(place[place.room]).toString()
  return `#/${place.room}?${words.replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}`
}
