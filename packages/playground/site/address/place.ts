import type { PlanQuestion } from '../plan/plan-question.js'
import { planOfWords, planWords } from './plan-address.js'

/** Where somebody is, and with what: all that an address says. */
export interface Place {
  readonly room: 'plan'
  readonly plan: PlanQuestion
}

/** @param hash of the address, with or without its `#` */
export function placeOf(hash: string): Place {
  const [, words = ''] = /^#?\/?[^?]*(?:\?(.*))?$/.exec(hash) ?? []
  return { room: 'plan', plan: planOfWords(new URLSearchParams(words)) }
}

/** The address of a place, from its `#` on. */
export function writePlace({ room, plan }: Place): string {
  // Commas and colons are allowed in fragments, and read better.
  return `#/${room}?${planWords(plan).toString().replaceAll('%2C', ',').replaceAll('%3A', ':')}`
}
