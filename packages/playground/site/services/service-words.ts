import {
  type AskedService,
  LONGEST_NAME,
  MAX_RATE_PER_S,
  MAX_SERVICES,
  MAX_WEIGHT,
  usualService,
} from './asked-service.js'

/**
 * Services as a word of an address: `name:network:rate:p99`, then `:weight:batch:delay` where they are not as usual; one after the
 * other with commas.
 */
export function wordOfServices(services: readonly AskedService[]): string {
  return services
    .map(({ name, model, ratePerS, p99Ms, ...rest }) => {
      const { weight, maxBatchSize, maxQueueDelayMs } = rest
      const isUsual = (Object.keys(usualService) as (keyof typeof usualService)[]).every(
        (field) => rest[field] === usualService[field],
      )
      const more = isUsual ? [] : [weight, maxBatchSize, maxQueueDelayMs]
      return [escaped(name), escaped(model), ratePerS, p99Ms, ...more].join(':')
    })
    .join(',')
}

/** The services that a word names; undefined where it is none, or one of them makes no sense. */
export function servicesOfWord(word: string | null): readonly AskedService[] | undefined {
  if (!word) return undefined
  const parts = word.split(',')
  if (parts.length > MAX_SERVICES) return undefined
  const services = parts.map(serviceOfPart)
  const names = new Set(services.map((service) => service?.name))
  if (names.size < services.length) return undefined
  return services.every((service) => service !== undefined) ? services : undefined
}

function serviceOfPart(part: string): AskedService | undefined {
  const [name = '', model = '', rate, p99, weight, batch, delay] = part.split(':')
  const number = (text: string | undefined, usual: number) =>
    text === undefined ? usual : text.trim() === '' ? Number.NaN : Number(text)
  const service: AskedService = {
    name: unescaped(name),
    model: unescaped(model),
    ratePerS: number(rate, Number.NaN),
    p99Ms: number(p99, Number.NaN),
    weight: number(weight, usualService.weight),
    maxBatchSize: number(batch, usualService.maxBatchSize),
    maxQueueDelayMs: number(delay, usualService.maxQueueDelayMs),
  }
  return makesSense(service) ? service : undefined
}

function makesSense(service: AskedService): boolean {
  const { name, model, ratePerS, p99Ms, weight, maxBatchSize, maxQueueDelayMs } = service
  return (
    name !== '' &&
    name.length <= LONGEST_NAME &&
    model !== '' &&
    ratePerS >= 0 &&
    ratePerS <= MAX_RATE_PER_S &&
    p99Ms > 0 &&
    p99Ms < Infinity &&
    weight > 0 &&
    weight <= MAX_WEIGHT &&
    Number.isSafeInteger(maxBatchSize) &&
    maxBatchSize >= 1 &&
    maxQueueDelayMs >= 0 &&
    maxQueueDelayMs < Infinity
  )
}

/** Names may hold what separates. */
function escaped(text: string): string {
  return text.replace(/[%,:@]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
}

function unescaped(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
