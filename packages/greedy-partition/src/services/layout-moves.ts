import type { Instances, Layout } from './layout.js'
import type { PlanProblem } from './plan-problem.js'

/** Share changes to try, in units: fine steps nearby, coarse steps further away. */
const strides = [1, 2, 4, 8]

/** All layouts that differ by one small change. The scorer rejects layouts that do not fit on the board. */
export function layoutsAround(problem: PlanProblem, layout: Layout): Layout[] {
  const { services, memIndex } = layout
  const around: Layout[] = []
  const used = services.reduce((sum, { count, units }) => sum + count * units, 0)
  const free = problem.totalUnits - used
  const put = (...changes: readonly (readonly [index: number, of: Instances])[]) => {
    let next = services
    for (const [index, of] of changes) {
      if (of.units < 1 || of.units > problem.totalUnits || of.count < 1 || of.count > problem.maxInstances) return
      next = next.with(index, of)
    }
    around.push({ services: next, memIndex })
  }
  for (let m = 0; m < problem.memClocksMhz.length; m++) if (m !== memIndex) around.push({ services, memIndex: m })
  services.forEach((of, i) => {
    const { count, units } = of
    const total = count * units
    problem.services[i]!.batchSizes.forEach((_, batch) => {
      if (batch !== of.batch) put([i, { ...of, batch }])
    })
    for (const stride of strides) {
      put([i, { ...of, units: units - stride }])
      if (count * stride <= free) put([i, { ...of, units: units + stride }])
    }
    if (free >= count) put([i, { ...of, units: units + Math.floor(free / count) }])
    // Split the same share into another number of processes, with the same, the next larger or the next smaller batch.
    for (let other = 1; other <= problem.maxInstances; other++) {
      if (other === count) continue
      const each = Math.floor(total / other)
      for (const batch of [of.batch, of.batch + 1, of.batch - 1]) {
        if (batch >= 0 && batch < problem.services[i]!.batchSizes.length) put([i, { count: other, units: each, batch }])
      }
      if (Math.floor((total + free) / other) > each) put([i, { ...of, count: other, units: each + 1 }])
    }
    put([i, { ...of, count: count - 1 }])
    if (units <= free) put([i, { ...of, count: count + 1 }])
  })
  // One service gives share to another. The giver may also take its next smaller batch, or the taker its next larger
  // one.
  services.forEach((giver, i) => {
    services.forEach((taker, j) => {
      if (i === j) return
      for (const stride of strides) {
        const given = Math.ceil((stride * taker.count - free) / giver.count)
        if (given <= 0) continue
        const less = { ...giver, units: giver.units - given }
        const more = { ...taker, units: taker.units + stride }
        put([i, less], [j, more])
        if (giver.batch > 0) put([i, { ...less, batch: giver.batch - 1 }], [j, more])
        if (taker.batch + 1 < problem.services[j]!.batchSizes.length) {
          put([i, less], [j, { ...more, batch: taker.batch + 1 }])
        }
      }
    })
  })
  return around
}
