/**
 * Predictions per second on one core. Tenants are unlike, which is the expensive case: consecutive like tenants share
 * one solution.
 */

import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { Bench } from 'tinybench'
import { batchOutput } from '../src/prediction-batch.js'

const model = loadPerfModel('3080Ti')
const names = model.networks
const memClockMhz = 9501
const clocks = [900, 1200, 1500, 1800]
const random = new SeededRandom(1)

function mix(count: number): Tenant[] {
  return Array.from({ length: count }, () => ({
    model: names[random.integer(names.length)]!,
    mpsPercent: Math.floor(100 / count) - random.integer(4),
    batchSize: 4 << random.integer(5),
  }))
}

const bench = new Bench({ name: 'one core', time: 1000, warmupTime: 300 })
for (const count of [1, 3, 5, 10]) {
  const mixes = Array.from({ length: 64 }, () => mix(count))
  let i = 0
  bench.add(`predict, the same ${count} at another clock`, () => {
    model.predict({ tenants: mixes[0]!, smClockMhz: clocks[i++ & 3]!, memClockMhz })
  })
  bench.add(`predict, ${count} other tenants each time`, () => {
    model.predict({ tenants: mixes[i & 63]!, smClockMhz: clocks[i++ & 3]!, memClockMhz })
  })
  bench.add(`predict with standard deviations, ${count} other tenants each time`, () => {
    const { throughputSd, powerSdW } = model.predict({
      tenants: mixes[i & 63]!,
      smClockMhz: clocks[i++ & 3]!,
      memClockMhz,
    })
    return void (throughputSd! + powerSdW!)
  })
  bench.add(`solveSmClock, ${count} other tenants each time`, () => {
    model.solveSmClock(mixes[i & 63]!, memClockMhz, 200 + (i++ & 63))
  })
}

const BATCH = 1000
const tenants = Array.from({ length: BATCH }, () => mix(3)).flat()
const input = {
  network: Uint8Array.from(tenants, (tenant) => names.indexOf(tenant.model)),
  mpsPercent: Float64Array.from(tenants, (tenant) => tenant.mpsPercent),
  batchSize: Uint16Array.from(tenants, (tenant) => tenant.batchSize),
  firstTenant: Uint32Array.from({ length: BATCH + 1 }, (_, c) => 3 * c),
  smClockMhz: Float64Array.from({ length: BATCH }, (_, c) => clocks[c & 3]!),
  memClockMhz: new Float64Array(BATCH).fill(memClockMhz),
}
const withDeviations = batchOutput(input)
const { throughputSd, powerSdW, ...output } = withDeviations
const batchTask = `predictBatch, ${BATCH} times 3 other tenants`
bench.add(batchTask, () => void model.predictBatch(input, output))
bench.add(`${batchTask}, with standard deviations`, () => void model.predictBatch(input, withDeviations))
bench.add('loadPerfModel', () => void loadPerfModel('3080Ti'))

await bench.run()
console.table(bench.table())
// On a shared machine, the fastest call is nearest to the cost of the code.
const result = bench.getTask(batchTask)?.result
if (result && 'latency' in result) {
  console.log(`fastest call of predictBatch: ${((1e6 * result.latency.min) / BATCH).toFixed(0)} ns a prediction`)
}
