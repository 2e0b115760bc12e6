import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { GaussianProcess, ResidualModel } from '../src/index.js'
import { throughputAtTarget } from '../src/shadow/merit.js'

const predictor = loadPerfModel('3080Ti')
const clocksMhz = smClocksAt(predictor.spec, 9501)!
const tenants: readonly Tenant[] = [{ model: 'resnet50', mpsPercent: 100, batchSize: 32 }]
const at = (smClockMhz: number) => ({ tenants, smClockMhz, memClockMhz: 9501 })

describe('throughput at the target power', () => {
  const predicting = (predict: Predictor['predict']): Predictor => ({
    spec: predictor.spec,
    memClocksMhz: predictor.memClocksMhz,
    predict,
    solveSmClock: (...asked) => predictor.solveSmClock(...asked),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  })
  /** A board whose throughput and power go as powers of the clock. */
  const lawful = (ofThroughput: number, ofPower: number): Predictor =>
    predicting((configuration) => ({
      ...predictor.predict(configuration),
      throughput: configuration.smClockMhz ** ofThroughput,
      powerW: configuration.smClockMhz ** ofPower,
    }))
  const fourTimes = (ofThroughput: number, ofPower: number, smClockMhz = 900) =>
    throughputAtTarget(lawful(ofThroughput, ofPower), at(smClockMhz), 1000, 50, 200) / 1000

  it('is what was measured, at the power that it was measured at', () => {
    expect(throughputAtTarget(predictor, at(900), 1000, 150, 150)).toBe(1000)
  })

  it('goes as power does along the clock, anywhere on the table and between two of its clocks', () => {
    for (const mhz of [clocksMhz[0]!, clocksMhz[1]!, 907, clocksMhz.at(-1)!]) {
      expect(fourTimes(1, 2, mhz)).toBeCloseTo(2, 9)
    }
    expect(fourTimes(1, 1)).toBeCloseTo(4, 9)
  })

  it('does not fall with more power, nor rise by more than its third power, whatever is predicted', () => {
    expect([fourTimes(-1, 1), fourTimes(1, 0), fourTimes(1, -1)]).toEqual([1, 1, 1])
    expect(fourTimes(2.9, 1)).toBeCloseTo(4 ** 2.9, 6)
    expect(fourTimes(9, 1)).toBeCloseTo(64, 9)
  })

  it('is told by the clocks next to the present one', () => {
    const asked: number[] = []
    const watched = predicting((configuration) => {
      asked.push(configuration.smClockMhz)
      return predictor.predict(configuration)
    })
    for (const index of [0, 1, 20, clocksMhz.length - 1]) throughputAtTarget(watched, at(clocksMhz[index]!), 1, 1, 1)
    const last = clocksMhz.length - 1
    const pairs = [0, 1, 0, 2, 19, 21, last - 2, last]
    expect(asked).toEqual(pairs.map((index) => clocksMhz[index]))
  })
})

describe('a Gaussian process', () => {
  const [amplitude, noise] = [0.3, 0.1]
  /** Matern, order 5/2: written as Rasmussen and Williams have it. */
  const covariance = (r: number) =>
    amplitude ** 2 * (1 + Math.sqrt(5) * r + (5 * r * r) / 3) * Math.exp(-Math.sqrt(5) * r)

  it('knows as much of a point as its distance from the only measurement leaves', () => {
    const process = new GaussianProcess({ amplitude, noise })
    process.fit([[2, 1]], [0.5])
    for (const r of [0, 0.4, 1.3, 4]) {
      const { mean, sd } = process.predict([2 + 0.6 * r, 1 - 0.8 * r])
      expect(mean).toBe(0.5)
      expect(sd).toBeCloseTo(Math.sqrt(amplitude ** 2 - covariance(r) ** 2 / (amplitude ** 2 + noise ** 2)), 12)
    }
  })

  it('weighs two measurements by how near they are', () => {
    const process = new GaussianProcess({ amplitude, noise })
    process.fit([[0], [1]], [0.2, -0.2])
    const own = amplitude ** 2 + noise ** 2
    for (const x of [-1, 0, 0.3, 0.5, 2]) {
      const lean = (covariance(Math.abs(x)) - covariance(Math.abs(x - 1))) / (own - covariance(1))
      expect(process.predict([x]).mean).toBeCloseTo(0.2 * lean, 12)
    }
    process.fit([], [])
    expect(process.predict([3])).toEqual({ mean: 0, sd: amplitude })
  })
})

describe('what was measured beside what was predicted', () => {
  const model = (history: number, maxPoints: number, refitInterval: number) =>
    new ResidualModel(predictor, { history, maxPoints, refitInterval })
  const learn = (residuals: ResidualModel, off: number, smClockMhz = 900) => {
    const { throughput, powerW } = predictor.predict(at(smClockMhz))
    residuals.learn({ configuration: at(smClockMhz), throughput: throughput * off, powerW: powerW * off ** 2 })
  }
  const means = (residuals: ResidualModel) => {
    const { throughput, power } = residuals.correction(at(900))
    return [throughput.mean, power.mean]
  }

  it('corrects as soon as there is any, and then after so many more', () => {
    const residuals = model(300, 300, 3)
    residuals.refit()
    expect(residuals.correction(at(900))).toEqual({
      throughput: { mean: 0, sd: 0.03 },
      power: { mean: 0, sd: 0.025 },
    })
    learn(residuals, 1.02)
    residuals.refit()
    const first = means(residuals)
    expect(first[0]).toBeCloseTo(Math.log(1.02), 12)
    expect(first[1]).toBeCloseTo(2 * Math.log(1.02), 12)
    for (let i = 0; i < 2; i++) learn(residuals, 1.1)
    residuals.refit()
    expect(means(residuals)).toEqual(first)
    learn(residuals, 1.1)
    residuals.refit()
    expect(means(residuals)[0]).toBeGreaterThan(0.05)
  })

  it('is kept of the newest only, and of many the evenly spread ones count, the newest among them', () => {
    const short = model(3, 300, 1)
    for (const off of [2, 2, 1.01, 1.01, 1.01]) learn(short, off)
    short.refit()
    expect(short.measurements).toBe(3)
    expect(means(short)[0]).toBeCloseTo(Math.log(1.01), 12)
    const thinned = model(300, 2, 1)
    // Of six the third and the sixth.
    for (const off of [2, 2, 1.01, 2, 2, 1.01]) learn(thinned, off)
    thinned.refit()
    expect(means(thinned)[0]).toBeCloseTo(Math.log(1.01), 12)
  })
})
