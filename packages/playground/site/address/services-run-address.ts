import {
  firstServicesRun as first,
  type ServicesRunQuestion,
  servicePolicyNames,
} from '../run-services/services-run-question.js'
import { servicesOfWord, wordOfServices } from '../services/service-words.js'
import { numberWord } from './number-word.js'
import { capsOf, capsWord, disturbancesOf, durationOf, timesOf } from './run-address.js'

/** A run of services as the words of an address; what is as usual is left out. */
export function servicesRunWords(question: ServicesRunQuestion): URLSearchParams {
  const { board, task, services, burstiness, caps, policies, loadFactor, seed, durationS } = question
  const words = new URLSearchParams()
  words.set('gpu', board)
  if (task !== null) words.set('task', task)
  else {
    words.set('services', wordOfServices(services))
    if (burstiness !== first.burstiness) words.set('burstiness', String(burstiness))
    if (durationS !== first.durationS) words.set('seconds', String(durationS))
  }
  if (caps !== null) words.set('caps', capsWord(caps))
  words.set('policies', policies.join(','))
  if (loadFactor !== first.loadFactor) words.set('load', String(loadFactor))
  if (seed !== first.seed) words.set('seed', String(seed))
  const events = [
    ...question.disturbances.map(({ kind, atS }) => `${kind}@${atS}`),
    ...question.bursts.map((atS) => `burst@${atS}`),
  ]
  if (events.length > 0) words.set('events', events.join(','))
  return words
}

/** The state that an address names. What is absent or makes no sense is as usual. */
export function servicesRunOfWords(words: URLSearchParams): ServicesRunQuestion {
  const services = servicesOfWord(words.get('services'))
  const listed = (words.get('policies') ?? '').split(',')
  const policies = servicePolicyNames.filter((name) => listed.includes(name))
  const caps = capsOf(words.get('caps'))
  const own = services !== undefined && !words.has('task')
  return {
    board: words.get('gpu') ?? first.board,
    task: own ? null : (words.get('task') ?? first.task),
    services: (own ? services : undefined) ?? first.services,
    burstiness:
      (own ? numberWord(words, 'burstiness', (value) => value >= 0.01 && value <= 100) : null) ?? first.burstiness,
    caps: caps ?? null,
    policies: policies.length > 0 ? policies : first.policies,
    loadFactor: numberWord(words, 'load', (value) => value >= 0.001 && value <= 100) ?? first.loadFactor,
    seed: numberWord(words, 'seed', (value) => Number.isSafeInteger(value) && value >= 0) ?? first.seed,
    durationS: own ? durationOf(words, first.durationS) : first.durationS,
    disturbances: disturbancesOf(words.get('events')),
    bursts: timesOf(words.get('events'), 'burst'),
  }
}
