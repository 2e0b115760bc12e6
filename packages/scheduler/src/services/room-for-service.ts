import type { Service, Tenant } from '@pctodl/platform'

export interface NewService {
  readonly service: Service
  readonly ratePerS: number
}

/** Shares are cut in steps of this many percent; none falls below the minimum. */
const STEP = 5
const LEAST = 5

/**
 * Tenants for services without any, with as few restarts of others as possible. A newcomer gets the free share; if that
 * is too small, one tenant gives up some of its share, chosen so that the load factor of all services stays highest.
 *
 * @param spare how much load tenants bear, as a common factor on the rates of all services that they serve; the larger the better
 */
export function makeRoomFor(
  kept: readonly Tenant[],
  newcomers: readonly NewService[],
  spare: (tenants: readonly Tenant[]) => number,
): readonly Tenant[] {
  let tenants = kept
  newcomers.forEach(({ service }, i) => {
    const last = i === newcomers.length - 1
    const free = 100 - tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)
    const tenantOf = (mpsPercent: number): Tenant => ({
      model: service.model,
      mpsPercent,
      batchSize: service.maxBatchSize,
      service: service.name,
    })
    const candidates: (readonly Tenant[])[] = []
    if (free >= LEAST) candidates.push([...tenants, tenantOf(free / (newcomers.length - i))])
    tenants.forEach((donor, at) => {
      for (let given = STEP; donor.mpsPercent - given >= LEAST; given += STEP) {
        candidates.push([
          ...tenants.with(at, { ...donor, mpsPercent: donor.mpsPercent - given }),
          tenantOf(free + given),
        ])
      }
    })
    // Only with all tenants present can their load be judged.
    const judged = last ? candidates.map((candidate) => ({ candidate, bears: spare(candidate) })) : []
    const untouched = judged.find(({ candidate }) => tenants.every((tenant) => candidate.includes(tenant)))
    if (untouched && untouched.bears >= 1) tenants = untouched.candidate
    else if (judged.length > 0)
      tenants = judged.reduce((best, each) => (each.bears > best.bears ? each : best)).candidate
    else if (candidates.length > 0) tenants = candidates[0]!
  })
  return tenants
}
