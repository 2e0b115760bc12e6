import type { Service, Tenant } from '@pctodl/platform'
import type { MixSolver } from '../src/serving/running-mixes.js'

interface Job {
  readonly requestsMs: readonly number[]
  readonly size: number
  /** Share of the batch that is done, 0..1. */
  done: number
}

/**
 * The same world told another way, for comparison: requests are lists, nothing is kept between events, every pace is asked for
 * anew at every event, and the next event is the least of all that could happen.
 */
export function simulateByHand(world: {
  readonly law: MixSolver
  readonly services: readonly Service[]
  readonly tenants: readonly (Tenant & { readonly service: string })[]
  readonly arrivalsMs: readonly (readonly number[])[]
  readonly maxQueued: number
  /** The clock from a multiple of 100 ms on. */
  readonly clockAt: (timeMs: number) => number
  readonly untilMs: number
}): { shed: number; latenciesMs: number[] }[] {
  const { law, services, tenants, untilMs } = world
  const upcoming = world.arrivalsMs.map((list) => [...list])
  const waiting: number[][] = services.map(() => [])
  const fates = services.map(() => ({ shed: 0, latenciesMs: [] as number[] }))
  const jobs: (Job | null)[] = tenants.map(() => null)
  let nowMs = 0

  const dispatch = () => {
    services.forEach((service, s) => {
      for (;;) {
        const line = waiting[s]!
        const free = tenants
          .map((tenant, t) => ({ tenant, t }))
          .filter(({ tenant, t }) => tenant.service === service.name && jobs[t] === null)
          .sort((a, b) => b.tenant.mpsPercent - a.tenant.mpsPercent || a.t - b.t)[0]
        if (line.length === 0 || !free) return
        const most = Math.min(free.tenant.batchSize, service.maxBatchSize)
        if (line.length < most && nowMs < line[0]! + service.maxQueueDelayMs) return
        const requestsMs = line.splice(0, most)
        let size = 1
        while (size < requestsMs.length) size = Math.min(2 * size, most)
        jobs[free.t] = { requestsMs, size, done: 0 }
      }
    })
  }

  const batchMs = () => {
    const running = tenants.flatMap((tenant, t) => (jobs[t] ? [{ ...tenant, batchSize: jobs[t].size }] : []))
    const { tenants: rates } = law.solve({ tenants: running, smClockMhz: world.clockAt(nowMs), memClockMhz: 1000 })
    let next = 0
    return jobs.map((job) => (job ? rates[next++]!.batchMs : Number.POSITIVE_INFINITY))
  }

  while (nowMs < untilMs) {
    const times = batchMs()
    const ends = jobs.map((job, t) => (job ? nowMs + (1 - job.done) * times[t]! : Number.POSITIVE_INFINITY))
    const comings = upcoming.map((list) => list[0] ?? Number.POSITIVE_INFINITY)
    const overdue = services.flatMap(({ maxQueueDelayMs }, s) => {
      const dueMs = (waiting[s]![0] ?? Number.POSITIVE_INFINITY) + maxQueueDelayMs
      return dueMs > nowMs ? [dueMs] : []
    })
    const tickMs = 100 * (Math.floor(nowMs / 100) + 1)
    const nextMs = Math.min(tickMs, untilMs, ...ends, ...comings, ...overdue)
    jobs.forEach((job, t) => {
      if (job) job.done += (nextMs - nowMs) / times[t]!
    })
    nowMs = nextMs
    jobs.forEach((job, t) => {
      if (!job || ends[t]! > nowMs) return
      const s = services.findIndex(({ name }) => name === tenants[t]!.service)
      for (const arrivedMs of job.requestsMs) fates[s]!.latenciesMs.push(nowMs - arrivedMs)
      jobs[t] = null
    })
    dispatch()
    upcoming.forEach((list, s) => {
      if ((list[0] ?? Number.POSITIVE_INFINITY) > nowMs) return
      const arrivedMs = list.shift()!
      if (waiting[s]!.length >= world.maxQueued) fates[s]!.shed++
      else waiting[s]!.push(arrivedMs)
    })
    dispatch()
  }
  return fates
}
