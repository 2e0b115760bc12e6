import { firstPlan, type PlanQuestion } from '../plan/plan-question.js'
import { numberWord } from './number-word.js'

/** The Plan room's state as the words of an address; what is as usual is left out. */
export function planWords(question: PlanQuestion): URLSearchParams {
  const words = new URLSearchParams()
  words.set('gpu', question.board)
  words.set(
    'model',
    question.networks.map(({ model, weight }) => (weight === 1 ? model : `${model}:${weight}`)).join(','),
  )
  words.set('cap', String(question.powerCapW))
  const { powerMarginW, sharePercentStep, latencySloMs, latencyPercentile, risk, maxTenants, memClockMhz } = question
  if (powerMarginW !== firstPlan.powerMarginW) words.set('margin', String(powerMarginW))
  if (sharePercentStep !== firstPlan.sharePercentStep) words.set('step', String(sharePercentStep))
  if (latencySloMs !== null) words.set('latency', String(latencySloMs))
  if (latencyPercentile !== firstPlan.latencyPercentile) words.set('percentile', latencyPercentile)
  if (risk !== null) words.set('risk', String(risk))
  if (maxTenants !== null) words.set('tenants', String(maxTenants))
  if (memClockMhz !== null) words.set('memory', String(memClockMhz))
  return words
}

/** The state that an address names. What is absent or makes no sense is as usual. */
export function planOfWords(words: URLSearchParams): PlanQuestion {
  const number = (name: string, accepts: (value: number) => boolean) => numberWord(words, name, accepts)
  const positive = (name: string) => number(name, (value) => value > 0)
  return {
    board: words.get('gpu') ?? firstPlan.board,
    networks: networksOf(words.get('model')),
    powerCapW: positive('cap') ?? firstPlan.powerCapW,
    powerMarginW: number('margin', (value) => value >= 0) ?? firstPlan.powerMarginW,
    sharePercentStep:
      number('step', (value) => Number.isInteger(value) && value >= 1 && value <= 100) ?? firstPlan.sharePercentStep,
    latencySloMs: positive('latency'),
    latencyPercentile: words.get('percentile') === 'p99' ? 'p99' : firstPlan.latencyPercentile,
    risk: number('risk', (value) => value >= 1e-9 && value <= 0.5),
    maxTenants: number('tenants', (value) => Number.isInteger(value) && value >= 1 && value <= 48),
    memClockMhz: positive('memory'),
  }
}

function networksOf(text: string | null): PlanQuestion['networks'] {
  const networks = (text ?? '').split(',').flatMap((part) => {
    const [model = '', weightText] = part.split(':')
    const weight = weightText === undefined ? 1 : Number(weightText)
    return model !== '' && weight > 0 && weight < Infinity ? [{ model, weight }] : []
  })
  const once = networks.filter(({ model }, i) => networks.findIndex((other) => other.model === model) === i)
  return once.length > 0 ? once : firstPlan.networks
}
