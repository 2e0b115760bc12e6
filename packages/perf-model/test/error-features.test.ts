import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, parsePerfModelParameters } from '@pctodl/perf-model'
import { smsOfShare, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { PerfModel } from '../src/perf-model.js'
import { FEATURES, feature, NETWORK_FEATURES } from '../src/uncertainty/calibration-layout.js'
import { errorFeatures, weightsOf } from '../src/uncertainty/error-features.js'

const random = new SeededRandom(3)
const board = loadPerfModel('3080Ti')
const { parameters, networks, spec } = board

/** The board with weights drawn anew; what the fit does not know counts as what rows have judged. */
const calibration = parameters.calibration.map((entry) => ({
  ...entry,
  weights: Array.from({ length: FEATURES }, (_, i) => (i === feature.unknown ? 0 : 0.2 * random.normal())),
  networks: networks.slice(1).map((name) => ({
    name,
    weights: Array.from({ length: NETWORK_FEATURES }, () => 0.2 * random.normal()),
  })),
}))
const unknownSd = { throughput: 10, power: 10 }
const drawn = new PerfModel({ ...parameters, calibration, profile: { ...parameters.profile, unknownSd } })

describe('the size of errors', () => {
  it('is what features and weights say of any mix, at any clock', () => {
    for (let run = 0; run < 60; run++) {
      const count = 1 + random.integer(12)
      const like = random.uniform() < 0.3
      const draw = (): Tenant => ({
        model: networks[random.integer(networks.length)]!,
        mpsPercent: 1 + random.integer(8),
        batchSize: 1 + random.integer(256),
      })
      const first = draw()
      const tenants = Array.from({ length: count }, () => (like ? first : draw()))
      const memClockMhz = drawn.memClocksMhz[run % 2]!
      const smClockMhz = 300 + random.integer(1500)
      const { throughput, throughputSd, powerW, powerSdW } = drawn.predict({ tenants, smClockMhz, memClockMhz })
      const kinds = tenants.map(({ model, mpsPercent, batchSize }) => {
        const sms = smsOfShare(spec, mpsPercent)
        return { network: networks.indexOf(model), mpsPercent: (100 * sms) / spec.smCount, batchSize }
      })
      const features = errorFeatures(
        {
          tenants: kinds,
          like: new Set(kinds.map((kind) => JSON.stringify(kind))).size === 1,
          several: new Set(kinds.map((kind) => kind.network)).size > 1,
          clock: smClockMhz / 2100,
          memClock: memClockMhz / drawn.memClocksMhz[0]!,
        },
        networks.length,
      )
      const sdOf = (quantity: string) => {
        const weights = weightsOf(calibration.find((entry) => entry.quantity === quantity)!, networks)
        // No corner is said to be known better or worse than this.
        return Math.min(1, Math.max(5e-4, Math.exp(features.reduce((sum, value, j) => sum + value * weights[j]!, 0))))
      }
      expect(throughputSd! / throughput / sdOf('throughput')).toBeCloseTo(1, 9)
      expect(powerSdW! / powerW / sdOf('power')).toBeCloseTo(1, 9)
    }
  })

  it('needs nothing that files of earlier releases do not have', () => {
    const earlier = parameters.calibration.map(({ networks: _, weights, ...entry }) => ({
      ...entry,
      weights: weights.slice(0, 10),
    }))
    const { throughputSd } = PerfModel.load(structuredClone({ ...parameters, calibration: earlier })).predict({
      tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }],
      smClockMhz: 1200,
      memClockMhz: 9501,
    })
    expect(throughputSd).toBeGreaterThan(0)
    const wrong = structuredClone(parameters)
    wrong.calibration[0]!.networks![0]!.weights.pop()
    expect(() => parsePerfModelParameters(wrong)).toThrow('calibration.0.networks.0.weights')
  })
})
