import type { StorySubject } from '../learn/story.js'
import type { PlanQuestion } from '../plan/plan-question.js'
import type { RunQuestion } from '../run/run-question.js'
import { learnOfWords, learnWords } from './learn-address.js'
import { planOfWords, planWords } from './plan-address.js'
import { runOfWords, runWords } from './run-address.js'

export const roomNames = ['plan', 'run', 'learn'] as const

export type RoomName = (typeof roomNames)[number]

/** Where somebody is, and with what: an address says what is in its own room. */
export interface Place {
  readonly room: RoomName
  readonly plan: PlanQuestion
  readonly run: RunQuestion
  readonly learn: StorySubject
}

/** @param hash of the address, with or without its `#` */
export function placeOf(hash: string): Place {
  const [, name, text = ''] = /^#?\/?([^?]*)(?:\?(.*))?$/.exec(hash) ?? []
  const room = roomNames.find((known) => known === name) ?? 'plan'
  const words = new URLSearchParams(text)
  const none = new URLSearchParams()
  return {
    room,
    plan: planOfWords(room === 'plan' ? words : none),
    run: runOfWords(room === 'run' ? words : none),
    learn: learnOfWords(room === 'learn' ? words : none),
  }
}

/** The address of a place, from its `#` on. */
export function writePlace({ room, plan, run, learn }: Place): string {
  const words = room === 'plan' ? planWords(plan) : room === 'run' ? runWords(run) : learnWords(learn)
  // Commas, colons and at signs are allowed in fragments, and read better.
  return `#/${room}?${words.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}`
}
