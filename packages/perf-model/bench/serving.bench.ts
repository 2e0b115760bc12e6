/** What a prediction for services costs, in microseconds of this process's own time: preparing a configuration, and one set of rates. */
import type { Service } from '@pctodl/platform'
import { loadPerfModel } from '../src/index.js'
import { BatchCostTable, ServingModel } from '../src/serving.js'

const model = loadPerfModel('A100')
const costs = new BatchCostTable(model)
const attainments = new Float64Array(3)
const WARM_ROUNDS = 3000
const ROUNDS = 3000

function microseconds(run: (round: number) => void): string {
  for (let round = 0; round < WARM_ROUNDS; round++) run(round)
  const start = process.cpuUsage().user
  for (let round = 0; round < ROUNDS; round++) run(round)
  return ((process.cpuUsage().user - start) / ROUNDS).toFixed(1)
}

const rows = [1, 8, 32].flatMap((maxBatchSize) => {
  const networks = ['resnet50', 'mobilenet_v2', 'vgg19']
  const services: Service[] = networks.map((network) => ({
    name: network,
    model: network,
    objective: { p99Ms: 100 },
    weight: 1,
    maxBatchSize,
    maxQueueDelayMs: 2,
  }))
  const tenants = networks.map((network) => ({
    model: network,
    mpsPercent: 33,
    batchSize: maxBatchSize,
    service: network,
  }))
  const configuration = { tenants, smClockMhz: 1200, memClockMhz: 1215 }
  const serving = new ServingModel(model, configuration, services)
  const most = model.predict(configuration).tenants.map(({ throughput }) => throughput)
  return [0.3, 0.8].map((load) => ({
    'batch at most': maxBatchSize,
    load,
    'prepare, us': microseconds(() => new ServingModel(model, configuration, services)),
    'the same from known tenants, us': microseconds(() => new ServingModel(model, configuration, services, { costs })),
    'all quantiles, us': microseconds((round) => {
      serving.predict(most.map((rate) => load * rate * (1 + 0.001 * (round % 20))))
    }),
    'attainment and power, us': microseconds((round) => {
      const rates = most.map((rate) => load * rate * (1 + 0.001 * (round % 20)))
      serving.attainments(rates, attainments)
    }),
  }))
})
console.table(rows)
