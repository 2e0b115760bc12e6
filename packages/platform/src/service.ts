import { InvalidInputError } from './errors.js'

/** Latency objective of a service's requests. */
export interface LatencyObjective {
  /** Time from arrival within which 99 of 100 requests must be answered, ms. */
  readonly p99Ms: number
}

/**
 * Requests of one kind that one network answers within a latency objective. A request is one sample; a tenant answers
 * several in one batch.
 */
export interface Service {
  /** Name, unique among the services of a board. */
  readonly name: string
  /** Network that answers the requests. */
  readonly model: string
  readonly objective: LatencyObjective
  /**
   * Value of an answered request relative to other services, above 0. If capacity is short, it determines which
   * services are shed first.
   */
  readonly weight: number
  /** Maximum number of requests in a batch. If a tenant's batch size is smaller, that applies. */
  readonly maxBatchSize: number
  /**
   * Maximum time for which a free tenant waits for a request's batch to fill, ms. With 0, it starts the batch at once.
   */
  readonly maxQueueDelayMs: number
}

/** Upper bound of a weight. It keeps sums of weights finite. */
const MAX_WEIGHT = 1e12

/**
 * Validates a list of services where the library receives it, so that later code can trust it.
 *
 * @throws InvalidInputError naming the service and the field
 */
export function assertServices(services: readonly Service[]): void {
  if (!Array.isArray(services) || services.length === 0) {
    throw new InvalidInputError('services', services, 'a list of at least one service')
  }
  const names = new Set<string>()
  for (const [i, service] of (services as readonly Service[]).entries()) {
    if (typeof service !== 'object' || service === null) {
      throw new InvalidInputError(
        `services[${i}]`,
        service,
        '{ name, model, objective, weight, maxBatchSize, maxQueueDelayMs }',
      )
    }
    const must = (field: string, value: unknown, holds: boolean, expected: string) => {
      if (!holds) throw new InvalidInputError(`services[${i}].${field}`, value, expected)
    }
    const { name, model, objective, weight, maxBatchSize, maxQueueDelayMs } = service
    must('name', name, typeof name === 'string' && name !== '', 'the name of the service')
    must('name', name, !names.has(name), 'a name that no other service has')
    names.add(name)
    must('model', model, typeof model === 'string' && model !== '', 'the name of a network')
    const p99Ms = objective?.p99Ms
    must('objective.p99Ms', p99Ms, isPositive(p99Ms), 'milliseconds above 0')
    must('weight', weight, isPositive(weight) && weight <= MAX_WEIGHT, `a positive number of at most ${MAX_WEIGHT}`)
    must('maxBatchSize', maxBatchSize, Number.isInteger(maxBatchSize) && maxBatchSize >= 1, 'an integer of at least 1')
    must(
      'maxQueueDelayMs',
      maxQueueDelayMs,
      typeof maxQueueDelayMs === 'number' && maxQueueDelayMs >= 0 && maxQueueDelayMs < Infinity,
      'milliseconds of at least 0',
    )
  }
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}
