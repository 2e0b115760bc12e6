import type { Service } from '@pctodl/platform'

/** A service as somebody asks for it: what it promises, and the requests that come. */
export interface AskedService {
  readonly name: string
  readonly model: string
  /** Requests/s. */
  readonly ratePerS: number
  /** 99 of 100 requests are answered within so many ms. */
  readonly p99Ms: number
  /** What an answered request is worth. */
  readonly weight: number
  readonly maxBatchSize: number
  readonly maxQueueDelayMs: number
}

/** What a service has where nobody says otherwise, as `pctodl partition --services` reads it. */
export const usualService = { weight: 1, maxBatchSize: 64, maxQueueDelayMs: 0 } as const

export const MAX_SERVICES = 12
/** As the command line takes them. */
export const MAX_RATE_PER_S = 1e6
export const MAX_WEIGHT = 1e12
/** Longest name, characters. */
export const LONGEST_NAME = 60

export const firstServices: readonly AskedService[] = [
  { ...usualService, name: 'search', model: 'resnet50', ratePerS: 400, p99Ms: 40 },
  { ...usualService, name: 'photos', model: 'mobilenet_v2', ratePerS: 300, p99Ms: 60 },
  { ...usualService, name: 'ads', model: 'vgg19', ratePerS: 60, p99Ms: 100, weight: 3 },
]

export function serviceOf({ name, model, p99Ms, weight, maxBatchSize, maxQueueDelayMs }: AskedService): Service {
  return { name, model, objective: { p99Ms }, weight, maxBatchSize, maxQueueDelayMs }
}

/** One more service, by a name that none of them has. */
export function anotherService(services: readonly AskedService[], models: readonly string[]): AskedService {
  const model = models.find((name) => services.every((service) => service.model !== name)) ?? models[0] ?? 'resnet50'
  let count = services.length + 1
  while (services.some(({ name }) => name === `service${count}`)) count++
  return { ...usualService, name: `service${count}`, model, ratePerS: 50, p99Ms: 100 }
}
