import type { BoardConstants } from '../board-constants.js'
import { KindField } from '../kind.js'
import { type Mix, RunField } from '../mix.js'
import { RESIDUAL_TERMS } from '../parameters.js'
import type { Solution } from '../solve.js'

/** Number of variables of a tenant: batch size, share, clock, contention, time off the device, number of tenants. */
const VARIABLES = 6
/** Number of products of up to three of the variables, including the empty product. */
const PRODUCTS = 84
/** Number of terms of the mix: the idle part, the products of the variables, the memory clock. */
export const MIX_TERMS: number = 1 + PRODUCTS + 1
/** Number of terms per network: its part of the prediction, alone and times each variable. */
export const NETWORK_TERMS: number = 1 + VARIABLES

/** A larger number of tenants counts as this number, because the prior has seen no more. */
const MANY_TENANTS = 20

export type Quantity = 'throughput' | 'power'

/** Prediction of the equations, with its terms of the error model. */
export interface PredictedTerms extends Pick<ErrorTerms, 'phi' | 'residual'> {
  readonly predicted: number
}

/**
 * Terms phi of the expected ln(measured / predicted) of one quantity, and terms of the residual's variance. Six
 * variables between -1 and 1 describe each tenant. The tenant adds their products to phi, weighted by its part of the
 * prediction.
 */
export class ErrorTerms {
  readonly phi: Float64Array
  /**
   * Terms: 1, and two per variable. These grow from 0 to 1 towards the two ends of the variable's mean over the tenants,
   * where the equations are less accurate.
   */
  readonly residual: Float64Array = new Float64Array(RESIDUAL_TERMS)
  readonly #variables = new Float64Array(VARIABLES)

  constructor(networks: number) {
    this.phi = new Float64Array(MIX_TERMS + networks * NETWORK_TERMS)
  }

  /** Write the terms of the solution of a mix at an SM clock. */
  write(
    quantity: Quantity,
    { topClockMhz, memClocksMhz }: BoardConstants,
    records: Float64Array,
    mix: Mix,
    solution: Solution,
    smClockMhz: number,
  ): void {
    const { phi, residual } = this
    const variables = this.#variables
    const power = quantity === 'power'
    const parts = power ? solution.dynamicW : solution.throughput
    const whole = power ? solution.powerW : solution.totalThroughput
    const many = (2 * Math.log(Math.min(mix.tenants, MANY_TENANTS))) / Math.log(MANY_TENANTS) - 1
    phi.fill(0)
    variables[2] = (2 * smClockMhz) / topClockMhz - 1
    variables[3] = mix.topDemand
    variables[5] = many
    let tenant = 0
    for (let r = 0; r < mix.runs; r++) {
      const count = mix.terms[r * RunField.stride + RunField.length]!
      const kind = mix.kinds[r]!
      const part = (count * parts[tenant]!) / whole
      variables[0] = records[kind + KindField.logBatch]!
      variables[1] = records[kind + KindField.logShare]!
      variables[4] = 1 - solution.duty[tenant]!
      tenant += count
      this.#addProducts(part)
      const own = MIX_TERMS + records[kind + KindField.network]! * NETWORK_TERMS
      phi[own]! += part
      for (let i = 0; i < VARIABLES; i++) phi[own + 1 + i]! += part * variables[i]!
    }
    // The part that no tenant draws is the idle part.
    phi[0] = Math.max(0, 1 - phi[1]!)
    phi[MIX_TERMS - 1] = 1 - memClocksMhz[mix.memIndex]! / memClocksMhz[0]!
    residual[0] = 1
    let end = 1
    for (let i = 0, term = 2; i < VARIABLES; i++) {
      const mean = phi[term]! / phi[1]!
      // The products that start with this variable follow it.
      term += 1 + ((VARIABLES - i) * (VARIABLES - i + 3)) / 2
      const high = 0.5 * (1 + Math.max(-1, Math.min(1, mean)))
      residual[end++] = high ** 4
      residual[end++] = (1 - high) ** 4
    }
  }

  #addProducts(part: number): void {
    const { phi } = this
    const variables = this.#variables
    let term = 1
    phi[term++]! += part
    for (let i = 0; i < VARIABLES; i++) {
      const one = part * variables[i]!
      phi[term++]! += one
      for (let j = i; j < VARIABLES; j++) {
        const two = one * variables[j]!
        phi[term++]! += two
        for (let k = j; k < VARIABLES; k++) phi[term++]! += two * variables[k]!
      }
    }
  }
}
