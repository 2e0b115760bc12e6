import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { type Mix, runLayout } from '../mix.js'
import type { Solution } from '../solve.js'
import { MAX_BATCH_SIZE, tenantLayout } from '../tenant-coefficients.js'
import { MIX_TERMS, NETWORK_TERMS, RESIDUAL_TERMS } from './term-counts.js'

/**
 * Numbers per kind of tenant: share; batch and share on logarithmic scales from -1 to 1; a term for small shares; 1 /
 * batch.
 */
export const KIND_NUMBERS = 5

const MANY_TENANTS = 20
const partOfRun = new Float64Array(MAX_MPS_CLIENTS)
const LOG_100 = Math.log(100)

export function writeKindNumbers(mpsPercent: number, batchSize: number, out: Float64Array, at: number): void {
  out[at] = mpsPercent / 100
  out[at + 1] = (2 * Math.log(batchSize)) / Math.log(MAX_BATCH_SIZE) - 1
  out[at + 2] = (2 * Math.log(mpsPercent)) / LOG_100 - 1
  out[at + 3] = Math.exp(-mpsPercent / 4)
  out[at + 4] = 1 / batchSize
}

/** Inputs of the error terms other than the tenants. */
export interface ErrorSetting {
  /** Coefficients of the kinds. */
  readonly coefficients: Float64Array
  /** `KIND_NUMBERS` numbers per kind, `stride` apart. */
  readonly numbers: Float64Array
  readonly stride: number
  /** SM clock relative to the board's highest. */
  readonly clock: number
  /** Memory clock relative to the model's highest. */
  readonly memClock: number
}

/**
 * Terms phi of ln(measured / predicted) = phi . beta + residual for one quantity, each within about -1 and 1, and the
 * terms of the residual's variance.
 */
export class ErrorTerms {
  readonly phi: Float64Array
  readonly residual: Float64Array = new Float64Array(RESIDUAL_TERMS)

  constructor(networks: number) {
    this.phi = new Float64Array(MIX_TERMS + networks * NETWORK_TERMS)
  }

  write(quantity: 'power' | 'throughput', mix: Mix, solution: Solution, setting: ErrorSetting): void {
    const { phi } = this
    const { coefficients, numbers, stride, clock, memClock } = setting
    phi.fill(0)
    const power = quantity === 'power'
    const parts = power ? solution.dynamicW : solution.throughput
    const whole = power ? solution.powerW : solution.totalThroughput
    const each = 1 / mix.tenants
    const c = 2 * clock - 1
    const l = (2 * Math.log(mix.tenants)) / Math.log(MANY_TENANTS) - 1
    const demand = mix.topDemand
    let dynamic = 0
    let used = 0
    let largest = 0
    let logs = 0
    let squares = 0
    let offDevice = 0
    let small = 0
    let tiny = 0
    let smallBatch = 0
    let sameKind = 0
    let first = 0
    for (let r = 0; r < mix.runs; r++) {
      const count = mix.terms[r * runLayout.stride + runLayout.length]!
      const kind = mix.kinds[r]!
      const at = (kind / tenantLayout.stride) * stride
      const share = numbers[at]!
      const x = numbers[at + 1]!
      const y = numbers[at + 2]!
      const part = (count * parts[first]!) / whole
      const off = 1 - solution.duty[first]!
      first += count
      const own = MIX_TERMS + coefficients[kind + tenantLayout.network]! * NETWORK_TERMS
      phi[own]! += part
      phi[own + 1]! += part * x
      phi[own + 2]! += part * c
      phi[own + 3]! += part * y
      phi[own + 4]! += part * demand
      phi[own + 5]! += part * off
      phi[own + 6]! += part * l
      phi[own + 7]! += part * x * x
      dynamic += part
      partOfRun[r] = part
      sameKind += part * part
      for (let q = 0; q < r; q++) {
        const other = mix.kinds[q]!
        const alike =
          coefficients[other + tenantLayout.network] === coefficients[kind + tenantLayout.network] &&
          coefficients[other + tenantLayout.batchSize] === coefficients[kind + tenantLayout.batchSize]
        if (alike) sameKind += 2 * part * partOfRun[q]!
      }
      used += count * share
      largest = Math.max(largest, share)
      const log = 0.5 * LOG_100 * (y + 1)
      logs += count * each * log
      squares += count * each * log * log
      offDevice += count * each * off
      small += part * numbers[at + 3]!
      tiny += count * each * numbers[at + 3]!
      smallBatch += part * numbers[at + 4]!
    }
    const uneven = Math.sqrt(Math.max(0, squares - logs * logs))
    phi[0] = Math.max(0, 1 - dynamic)
    phi[1] = l
    phi[2] = l * l
    phi[3] = l * c
    phi[4] = dynamic * c * c
    phi[5] = dynamic * c ** 3
    phi[6] = dynamic * c ** 4
    phi[7] = dynamic * Math.max(0, clock - 0.75) * 4
    phi[8] = dynamic * Math.max(0, clock - 0.88) * 8
    phi[9] = used
    phi[10] = used * c
    phi[11] = used * l
    phi[12] = uneven
    phi[13] = uneven * c
    phi[14] = uneven * used
    phi[15] = offDevice
    phi[16] = offDevice * l
    phi[17] = offDevice * c
    phi[18] = small
    phi[19] = tiny
    phi[20] = largest * uneven
    phi[21] = smallBatch
    phi[22] = dynamic * c * demand
    phi[23] = 1 - memClock
    this.residual[0] = 1
    this.residual[1] = sameKind
    this.residual[2] = sameKind * 0.5 * (l + 1)
  }
}
