import { loadPerfModel, predictionBuffer } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { Bench } from 'tinybench'

const model = loadPerfModel('3080Ti')
const names = model.networks
const buffer = predictionBuffer()
const clocks = [900, 1200, 1500, 1800]

/** Unlike tenants, the dear case: like ones share their solutions. */
const mix = (count: number): Tenant[] =>
  Array.from({ length: count }, (_, i) => ({
    model: names[i % names.length]!,
    mpsPercent: Math.floor(100 / count),
    batchSize: 4 << (i % 5),
  }))

const bench = new Bench({ name: 'one core', time: 1000, warmupTime: 300 })
for (const count of [1, 3, 5, 10]) {
  const tenants = mix(count)
  let i = 0
  bench.add(`predict, ${count} unlike tenants`, () => {
    model.predict({ tenants, smClockMhz: clocks[i++ & 3]!, memClockMhz: 9501 })
  })
  bench.add(`predictInto, ${count} unlike tenants`, () => {
    model.predictInto({ tenants, smClockMhz: clocks[i++ & 3]!, memClockMhz: 9501 }, buffer)
  })
  bench.add(`solveSmClock, ${count} unlike tenants`, () => {
    model.solveSmClock(tenants, 9501, 200 + (i++ & 63))
  })
}
await bench.run()
console.table(bench.table())
