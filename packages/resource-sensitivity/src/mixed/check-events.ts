import { InvalidInputError } from '@pctodl/platform'
import type { EngineEvent } from '../engine/engine-event.js'
import { assertJob } from '../engine/scheduling-options.js'
import { ServerAvailability } from '../engine/server-availability.js'
import type { Incident } from '../simulate/simulation-options.js'
import type { Job } from '../trace/job.js'
import { type CheckedBudgetOptions, whyImpossible } from './budget-options.js'

/**
 * @param jobs known already
 * @throws InvalidInputError, UnknownNameError, ImpossibleJobError for what no engine with these options can be told
 */
export function assertEvents(
  events: readonly EngineEvent[],
  options: CheckedBudgetOptions,
  jobs: { has(jobId: number): boolean },
): void {
  const { servers, models, idleW } = options
  const assertServer = (field: string, server: number) => {
    if (Number.isInteger(server) && server >= 0 && server < servers.length) return
    throw new InvalidInputError(`${field}: server`, server, `a server from 0 to ${servers.length - 1}`)
  }
  const known = new Set<number>()
  for (const event of events) {
    switch (event.type) {
      case 'submitted': {
        if (jobs.has(event.job.id)) break
        assertJob(event.job, models)
        const impossible = whyImpossible(options, event.job)
        if (impossible !== undefined) throw impossible
        known.add(event.job.id)
        break
      }
      case 'finished':
      case 'cancelled':
      case 'stopped':
      case 'progressed':
      case 'left':
        if (!jobs.has(event.jobId) && !known.has(event.jobId)) {
          throw new InvalidInputError(`${event.type}: jobId`, event.jobId, 'a job that was submitted')
        }
        if ('doneIterations' in event && event.doneIterations !== undefined && !(event.doneIterations >= 0)) {
          throw new InvalidInputError(`${event.type}: doneIterations`, event.doneIterations, 'a number of at least 0')
        }
        break
      case 'server-failed':
      case 'server-draining':
      case 'server-returned':
        assertServer(event.type, event.server)
        break
      case 'reserved':
        assertServer(`reservation ${event.reservation.id}`, event.reservation.server)
        break
      case 'budget':
        assertBudget(event.powerBudgetW, idleW)
        if (event.fromS !== undefined && !Number.isFinite(event.fromS)) {
          throw new InvalidInputError('budget: fromS', event.fromS, 'a time in seconds, or nothing for now')
        }
        break
      case 'reservation-ended':
        break
    }
  }
}

/** @throws InvalidInputError for a budget below what the GPUs draw without work */
export function assertBudget(powerBudgetW: number, idleW: number): void {
  if (powerBudgetW >= idleW) return
  throw new InvalidInputError('powerBudgetW', powerBudgetW, `at least ${idleW} W, which the GPUs draw without work`)
}

/**
 * Before anything runs: hours later an incident that cannot be would end all that runs by then.
 *
 * @throws InvalidInputError
 */
export function assertIncidents(
  incidents: readonly Incident[],
  options: CheckedBudgetOptions,
  jobs: readonly Job[],
): void {
  const arrivals = new Map(jobs.map(({ id, arrivalS }) => [id, arrivalS]))
  incidents.forEach(({ atS, event }, i) => {
    if (!(atS >= 0 && Number.isFinite(atS))) {
      throw new InvalidInputError(`incidents[${i}].atS`, atS, 'seconds of at least 0')
    }
    assertEvents([event], options, arrivals)
    if (event.type === 'reserved') new ServerAvailability(options.servers).reserve(event.reservation)
    if ('jobId' in event && !(atS > arrivals.get(event.jobId)!)) {
      throw new InvalidInputError(`incidents[${i}].atS`, atS, `a time after job ${event.jobId} has arrived`)
    }
  })
}
