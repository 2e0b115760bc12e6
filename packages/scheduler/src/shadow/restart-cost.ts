import { sameProcess, type Tenant } from '@pctodl/platform'

/** How many of `next` need a process that `present` does not have. */
export function restartedCount(present: readonly Tenant[], next: readonly Tenant[]): number {
  const left = [...present]
  let restarted = 0
  for (const tenant of next) {
    const index = left.findIndex((other) => sameProcess(other, tenant))
    if (index < 0) restarted++
    else left.splice(index, 1)
  }
  return restarted
}

/** Samples that a change costs: what its restarted tenants would have completed while they load. */
export function restartCostSamples(
  present: readonly Tenant[],
  next: readonly Tenant[],
  throughput: number,
  restartS: number,
): number {
  return (restartS * throughput * restartedCount(present, next)) / next.length
}
