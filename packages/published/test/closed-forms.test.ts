import { describe, expect, it } from 'vitest'
import {
  memBase,
  memInterference,
  scalePower,
  scaleThroughput,
  smBase,
  smSystem,
  throughputPerUtilisation,
} from '../src/predictor/closed-forms.js'
import { referenceDefaults } from '../src/predictor/published-set.js'

describe("the Python code's closed forms", () => {
  it('saturate SM utilisation in the logarithm of the batch, the sooner the smaller the share', () => {
    const parameters = { lambda_sm: 0.1, gamma_sm: 0.5, beta_sm: 2 }
    expect(smBase(parameters, 25, 8)).toBeCloseTo(100 * Math.tanh((0.1 * Math.log(8) + 2) / 5), 5)
    // Shares below 1 % count as 1 %.
    expect(smBase(parameters, 0.01, 8)).toBe(smBase(parameters, 1, 8))
  })

  it('scale memory utilisation by a power of the share, which counts from a millionth to all of the board', () => {
    const parameters = { phi_mem: 40, alpha_mem: 0.5, lambda_mem: 0.2, beta_mem: 0.1 }
    const batch = Math.tanh(0.2 * Math.log(8) + 0.1)
    expect(memBase(parameters, 25, 8)).toBeCloseTo(40 * 0.5 * batch, 5)
    expect(memBase(parameters, 200, 8)).toBe(memBase(parameters, 100, 8))
    expect(memBase(parameters, 0, 8)).toBeCloseTo(40 * 1e-3 * batch, 7)
  })

  it('let tenants together be busy as if each were so by chance, up to a limit that grows with their mean', () => {
    const parameters = { alpha: 0.4, beta: 50, kappa: 2 }
    const own = Float64Array.of(30, 60)
    // No excess over the reference: the limit is the line.
    const limit = 0.4 * 45 + 50
    const busy = (tenant: number) => 1 - tenant / limit
    expect(smSystem(parameters, own, 2, 80)).toBeCloseTo(limit * (1 - busy(30) * busy(60)), 3)
    // All of the excess: the limit is the whole board.
    expect(smSystem(parameters, Float64Array.of(100, 100), 2, 0)).toBeCloseTo(100, 3)
    const partly = (45 - 20) / 80
    const raised = limit + ((100 - limit) * Math.tanh(2 * partly)) / Math.tanh(2)
    expect(smSystem(parameters, own, 2, 20)).toBeCloseTo(raised * (1 - (1 - 30 / raised) * (1 - 60 / raised)), 3)
  })

  it('add memory utilisation for every further tenant by mean share and mean batch, bent at the batch tau', () => {
    const parameters = { k1: 0.01, k2: 0.8, alpha: 4, beta: 0.4, mu: 0.02, tau: 16 }
    expect(memInterference(parameters, 90, 30, 3)).toBeCloseTo(30 * (0.01 * 10 + 0.8) * 2, 3)
    expect(memInterference(parameters, 90, 30, 1)).toBeCloseTo(0, 9)
    const beyond = 0.01 * 16 + 0.8 + 4 * (Math.exp(-0.4 * 16) - Math.exp(-0.4 * 20)) + 0.02 * 4
    expect(memInterference(parameters, 90, 60, 3)).toBeCloseTo(30 * beyond * 2, 2)
    // No step at the bend.
    expect(memInterference(parameters, 90, 48 + 1e-3, 3)).toBeCloseTo(memInterference(parameters, 90, 48, 3), 1)
  })

  it('make samples of utilisation, by batch where the set says so', () => {
    const set = { ...referenceDefaults.throughput, kappa_a: 2, kappa_b: 30 }
    expect(throughputPerUtilisation({ ...set, batch_aware_kappa: true }, 8)).toBeCloseTo(2 * Math.log(8) + 30, 6)
    expect(throughputPerUtilisation({ ...set, batch_aware_kappa: false }, 8)).toBe(30)
  })

  it('scale with the clock between its ends: throughput from T_start, power from P_base', () => {
    const throughput = { ...referenceDefaults.throughput, gamma_t: 0.5, T_start: 300, f_ref: 1410, f_min: 210 }
    expect(scaleThroughput(throughput, 1300, 510)).toBeCloseTo(300 + 1000 * 0.5, 9)
    expect(scaleThroughput(throughput, 1300, 100)).toBe(300)
    expect(scaleThroughput(throughput, 1300, 2000)).toBe(1300)
    // Where T_start is below a fifth, from nothing and by half the power.
    expect(scaleThroughput({ ...throughput, T_start: 200 }, 1300, 210 + 1200 / 16)).toBeCloseTo(1300 / 2, 9)
    expect(scaleThroughput({ ...throughput, T_start: 260 }, 1300, 210)).toBe(260)
    const power = {
      static: { delta_3: 1e-9, delta_2: 1e-6, delta_1: 1e-3, delta_0: 50 },
      dynamic: { gamma_p: 2, P_base: 10, f_ref: 1410, f_min: 210 },
    }
    expect(scalePower(power, 90, 810)).toBeCloseTo(1e-9 * 810 ** 3 + 1e-6 * 810 ** 2 + 0.81 + 50 + 10 + 80 / 4, 9)
  })

  it('are these where the Python code finds no file', () => {
    expect(throughputPerUtilisation(referenceDefaults.throughput, 99)).toBe(50)
    expect(scaleThroughput(referenceDefaults.throughput, 400, 1080)).toBeCloseTo(100 + 300 * 0.5 ** 0.8, 9)
    expect(scalePower(referenceDefaults.power, 110, 1080)).toBeCloseTo(
      2.31e-8 * 1080 ** 3 - 5.44e-5 * 1080 ** 2 + 0.039 * 1080 + 85.6 + 10 + 100 / 8,
      9,
    )
  })
})
