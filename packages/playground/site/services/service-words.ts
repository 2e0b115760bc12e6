import { numberOf } from '../address/words.js'
import {
  type AskedService,
  LONGEST_NAME,
  MAX_SERVICES,
  ownFields,
  serviceNumbers,
  usualService,
} from './asked-service.js'

/**
 * Encodes services as a word of an address: `name:network:rate:p99`, then `:weight:batch:delay` if these differ from
 * the defaults. Commas separate services.
 */
export function wordOfServices(services: readonly AskedService[]): string {
  return services
    .map((service) => {
      const { name, model, ratePerS, p99Ms, weight, maxBatchSize, maxQueueDelayMs } = service
      const more = ownFields(service).length === 0 ? [] : [weight, maxBatchSize, maxQueueDelayMs]
      return [escaped(name), escaped(model), ratePerS, p99Ms, ...more].join(':')
    })
    .join(',')
}

/** Decodes services from a word; undefined if a service is malformed or two services share a name. */
export function servicesOfWord(word: string): readonly AskedService[] | undefined {
  const services = word.split(',', MAX_SERVICES + 1).map(serviceOfPart)
  if (services.length > MAX_SERVICES || services.includes(undefined)) return undefined
  const known = services as AskedService[]
  return new Set(known.map(({ name }) => name)).size < known.length ? undefined : known
}

function serviceOfPart(part: string): AskedService | undefined {
  const [name = '', model = '', rate, p99, weight, batch, delay, ...rest] = part.split(':')
  const { weight: usualWeight, maxBatchSize, maxQueueDelayMs } = usualService
  const service: AskedService = {
    name: unescaped(name),
    model: unescaped(model),
    ratePerS: numberOf(rate),
    p99Ms: numberOf(p99),
    weight: weight === undefined ? usualWeight : numberOf(weight),
    maxBatchSize: batch === undefined ? maxBatchSize : numberOf(batch),
    maxQueueDelayMs: delay === undefined ? maxQueueDelayMs : numberOf(delay),
  }
  const isNamed = service.name !== '' && service.name.length <= LONGEST_NAME && service.model !== ''
  const fits = serviceNumbers.every(({ field, accepts }) => accepts(service[field]))
  return isNamed && fits && rest.length === 0 ? service : undefined
}

/** Escapes separators, which names may contain. */
function escaped(text: string): string {
  return text.replace(/[%,:@]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
}

function unescaped(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** The default fields of services, as a line of a program. */
export const usualText: string = `const usual = { ${Object.entries(usualService)
  .map(([field, value]) => `${field}: ${value}`)
  .join(', ')} }`

/** Returns the program text of a service; fields with default values come from `usual`. */
export function serviceText(service: AskedService): string {
  const { name, model, p99Ms } = service
  const own = ownFields(service).map(([field, value]) => `, ${field}: ${value}`)
  return `{ ...usual, name: ${JSON.stringify(name)}, model: ${JSON.stringify(model)}, objective: { p99Ms: ${p99Ms} }${own.join('')} }`
}
