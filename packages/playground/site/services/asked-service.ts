import type { Service } from '@pctodl/platform'

/** A service with its latency objective and its request rate. */
export interface AskedService {
  readonly name: string
  readonly model: string
  /** Requests/s. */
  readonly ratePerS: number
  /** Latency objective: the p99 latency must not exceed it, ms. */
  readonly p99Ms: number
  /** Weight of an answered request in the objective. */
  readonly weight: number
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
}

/** The defaults of `pctodl partition --services`. */
export const usualService = { weight: 1, maxBatchSize: 64, maxQueueDelayMs: 0 } as const

export const MAX_SERVICES = 12
/** Maximum length of a name, characters. */
export const LONGEST_NAME = 60

/** The numeric fields of a service in display order, with the bounds of the command line. */
export const serviceNumbers: readonly {
  readonly field: 'ratePerS' | 'p99Ms' | 'weight' | 'maxBatchSize' | 'maxQueueDelayMs'
  readonly head: string
  readonly expected: string
  readonly accepts: (value: number) => boolean
}[] = [
  {
    field: 'ratePerS',
    head: 'requests/s',
    expected: '0 to 1000000',
    accepts: (value: number) => value >= 0 && value <= 1e6,
  },
  { field: 'p99Ms', head: 'p99, ms', expected: 'above 0', accepts: (value: number) => value > 0 && value <= 1e6 },
  { field: 'weight', head: 'weight', expected: 'above 0', accepts: (value: number) => value > 0 && value <= 1e12 },
  {
    field: 'maxBatchSize',
    head: 'largest batch',
    expected: 'whole, from 1',
    accepts: (value: number) => Number.isSafeInteger(value) && value >= 1,
  },
  {
    field: 'maxQueueDelayMs',
    head: 'batch delay, ms',
    expected: '0 or more',
    accepts: (value: number) => value >= 0 && value <= 1e6,
  },
]

/** Returns the fields of a service that differ from the defaults. */
export function ownFields(service: AskedService): (readonly [field: string, value: number])[] {
  return (Object.keys(usualService) as (keyof typeof usualService)[])
    .filter((field) => service[field] !== usualService[field])
    .map((field) => [field, service[field]])
}

export const firstServices: readonly AskedService[] = [
  { ...usualService, name: 'search', model: 'resnet50', ratePerS: 400, p99Ms: 40 },
  { ...usualService, name: 'photos', model: 'mobilenet_v2', ratePerS: 300, p99Ms: 60 },
  { ...usualService, name: 'ads', model: 'vgg19', ratePerS: 60, p99Ms: 100, weight: 3 },
]

export function serviceOf({ name, model, p99Ms, weight, maxBatchSize, maxQueueDelayMs }: AskedService): Service {
  return { name, model, objective: { p99Ms }, weight, maxBatchSize, maxQueueDelayMs }
}

/** Returns a new service for the list, with a name that is not in use. */
export function anotherService(services: readonly AskedService[], models: readonly string[]): AskedService {
  const model = models.find((name) => services.every((service) => service.model !== name)) ?? models[0] ?? 'resnet50'
  let count = services.length + 1
  while (services.some(({ name }) => name === `service${count}`)) count++
  return { ...usualService, name: `service${count}`, model, ratePerS: 50, p99Ms: 100 }
}
