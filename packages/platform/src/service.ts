import { InvalidInputError } from './errors.js'

/** What a service promises for each of its requests. */
export interface LatencyObjective {
  /** 99 of 100 requests are answered within so many ms of their arrival. */
  readonly p99Ms: number
}

/**
 * Requests of one kind that arrive at a rate of their own, are answered by one network, and are promised an answer in time.
 * A request is one sample; tenants answer several of them in one batch.
 */
export interface Service {
  /** Unique among the services of a board. */
  readonly name: string
  /** The network that answers. */
  readonly model: string
  readonly objective: LatencyObjective
  /** What an answered request is worth beside those of other services; above 0. Decides who gives way when not all can be served. */
  readonly weight: number
  /** Most requests in a batch; a tenant with a smaller batch size takes no more than that. */
  readonly maxBatchSize: number
  /**
   * The longest that a request waits, ms, for others to fill its batch while a tenant is free; 0: a free tenant takes what
   * there is at once.
   */
  readonly maxQueueDelayMs: number
}

/** Sums of what requests are worth stay numbers. */
const MAX_WEIGHT = 1e12

/**
 * Check a list of services once, at a boundary; afterwards it is trusted.
 *
 * @throws InvalidInputError naming the service and the field
 */
export function assertServices(services: readonly Service[]): void {
  if (!Array.isArray(services) || services.length === 0) {
    throw new InvalidInputError('services', services, 'a list of at least one service')
  }
  const names = new Set<string>()
  services.forEach((service: Service, i) => {
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
  })
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}
