import { loadPerfModel } from '@pctodl/perf-model'
import type { Service, Tenant } from '@pctodl/platform'
import { expect, it } from 'vitest'
import { ServingClocks } from '../src/services/serving-clocks.js'
import { chooseAdmission } from '../src/services/shedding.js'

it.each([
  [1, 'vgg19, which answers fewer requests per joule', 1],
  [1000, 'mobilenet_v2, which has less weight', 0],
])(
  'at the cap, with a weight of 1 for mobilenet_v2 and %d for vgg19, the service that gives way is %s',
  (weight, _, givesWay) => {
    const model = loadPerfModel('3080Ti')
    const serviceOf = (network: string, its: number): Service => ({
      ...{ name: network, model: network, weight: its, objective: { p99Ms: 500 } },
      ...{ maxBatchSize: 32, maxQueueDelayMs: 0 },
    })
    const services = [serviceOf('mobilenet_v2', 1), serviceOf('vgg19', weight)]
    const tenants = services.map(({ name }): Tenant => ({ model: name, mpsPercent: 50, batchSize: 32, service: name }))
    const clocks = new ServingClocks(model, tenants, services, 9501)
    const smClockMhz = clocks.smClocksMhz[0]!
    const { services: idle } = clocks.predict(smClockMhz, [1, 1])
    const ratesPerS = idle.map(({ capacityPerS }) => 0.6 * capacityPerS)
    const targetW = clocks.predict(smClockMhz, ratesPerS).powerW - 2
    const { shares } = chooseAdmission([clocks], smClockMhz, { services, ratesPerS, backlogPerS: [0, 0], targetW })
    expect(shares[givesWay]).toBeLessThan(0.95)
    expect(shares[1 - givesWay]).toBeGreaterThan(0.99)
  },
)
