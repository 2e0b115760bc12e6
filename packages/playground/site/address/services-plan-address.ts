import { firstServicesQuestion as first, goals, type ServicesQuestion } from '../plan-services/services-question.js'
import { servicesOfWord, wordOfServices } from '../services/service-words.js'
import { numberWord } from './number-word.js'

/** A plan for services as the words of an address; what is as usual is left out. */
export function servicesPlanWords(question: ServicesQuestion): URLSearchParams {
  const { board, services, powerCapW, objective, maxTenants, memClockMhz } = question
  const words = new URLSearchParams()
  words.set('gpu', board)
  words.set('services', wordOfServices(services))
  words.set('cap', String(powerCapW))
  if (objective !== first.objective) words.set('objective', objective)
  for (const [word, field] of numbers) if (question[field] !== first[field]) words.set(word, String(question[field]))
  if (maxTenants !== null) words.set('tenants', String(maxTenants))
  if (memClockMhz !== null) words.set('memory', String(memClockMhz))
  return words
}

const numbers = [
  ['margin', 'powerMarginW'],
  ['rate-margin', 'rateMargin'],
  ['latency-margin', 'latencyMargin'],
  ['burstiness', 'burstiness'],
  ['step', 'sharePercentStep'],
] as const

/** The question that an address names. What is absent or makes no sense is as usual. */
export function servicesPlanOfWords(words: URLSearchParams): ServicesQuestion {
  const between = (word: string, least: number, most: number) =>
    numberWord(words, word, (value) => value >= least && value <= most)
  const positive = (word: string) => numberWord(words, word, (value) => value > 0)
  const whole = (word: string, most: number) =>
    numberWord(words, word, (value) => Number.isInteger(value) && value >= 1 && value <= most)
  return {
    board: words.get('gpu') ?? first.board,
    services: servicesOfWord(words.get('services')) ?? first.services,
    powerCapW: positive('cap') ?? first.powerCapW,
    objective: goals.find((goal) => goal === words.get('objective')) ?? first.objective,
    powerMarginW: between('margin', 0, 1e4) ?? first.powerMarginW,
    rateMargin: between('rate-margin', 1, 10) ?? first.rateMargin,
    latencyMargin: between('latency-margin', 0, 0.9) ?? first.latencyMargin,
    burstiness: between('burstiness', 1, 1000) ?? first.burstiness,
    sharePercentStep: whole('step', 100) ?? first.sharePercentStep,
    maxTenants: whole('tenants', 48),
    memClockMhz: positive('memory'),
  }
}
