import { smClocksAt, smsOfShare } from '@pctodl/platform'
import { boardConstants } from '../board-constants.js'
import { CORRECTION_NODES, correctionGrid } from '../correction-grid.js'
import { correctionLayout } from '../corrections.js'
import { Mix, prepare, writeKind } from '../mix.js'
import { Solution, solve } from '../solve.js'
import { tenantLayout } from '../tenant-coefficients.js'
import type { ModelObjective } from './model-objective.js'
import type { ParameterCovariance } from './standard-errors.js'

/** Step of the finite differences, in the logarithm of a parameter. */
const STEP = 1e-4

type Quantity = 'totalThroughput' | 'powerW'

/**
 * Variance of ln(throughput) or ln(power) at the nodes of the corrections that is due to the parameters of one stage:
 * g' C g with the gradient g for like tenants there (as many as fit, at the middle SM clock).
 *
 * @returns by memory clock, then in the node order of `correctionGrid`
 */
export function nodeVariances(
  objective: ModelObjective,
  network: number,
  { free, covariance }: ParameterCovariance,
  quantity: Quantity,
): Float64Array[] {
  const { spec, table } = objective
  const used = free.map((slot, at) => ({ slot, at })).filter(({ slot }) => concerns(objective, slot, network))
  const evaluate = nodeEvaluator(objective, network, quantity)
  const point = objective.pack()
  const base = evaluate()
  const gradients = used.map(({ slot }) => {
    const shifted = Float64Array.from(point)
    shifted[slot]! += STEP
    objective.unpack(shifted)
    return evaluate().map((values, m) => values.map((value, i) => (value - base[m]![i]!) / STEP))
  })
  objective.unpack(point)
  const count = free.length
  return table.memClocksMhz.map((_, m) =>
    Float64Array.from({ length: CORRECTION_NODES }, (_node, i) => {
      let sum = 0
      used.forEach((a, j) => {
        used.forEach((b, k) => {
          sum += gradients[j]![m]![i]! * covariance[a.at * count + b.at]! * gradients[k]![m]![i]!
        })
      })
      return Math.max(0, sum)
    }),
  )

  /** Returns a function that computes the quantity's logarithm at all nodes for the current parameters. */
  function nodeEvaluator({ board, networks }: ModelObjective, index: number, of: Quantity): () => Float64Array[] {
    const coefficients = new Float64Array(tenantLayout.stride)
    const corrections = new Float64Array(table.memClocksMhz.length * correctionLayout.stride).fill(1)
    const kinds = { coefficients, corrections }
    const mix = new Mix()
    const solution = new Solution()
    const clocks = table.memClocksMhz.map((memClockMhz) => {
      const states = smClocksAt(spec, memClockMhz)!
      return states[states.length >> 1]!
    })
    return () => {
      const constants = boardConstants(spec, board)
      return table.memClocksMhz.map((_, m) => {
        const values = new Float64Array(CORRECTION_NODES)
        let node = 0
        for (const mpsPercent of correctionGrid.mpsPercent) {
          for (const batchSize of correctionGrid.batchSize) {
            const kind = { network: 0, sms: smsOfShare(spec, mpsPercent), batchSize }
            writeKind(constants, networks[index]!, kind, coefficients, 0)
            for (const tenants of correctionGrid.tenants) {
              const offsets = new Int32Array(Math.min(tenants, Math.floor(100 / mpsPercent)))
              prepare(constants, kinds, offsets, offsets.length, m, mix)
              solve(constants, kinds, mix, clocks[m]!, solution)
              values[node++] = Math.log(solution[of])
            }
          }
        }
        return values
      })
    }
  }
}

function concerns({ slots }: ModelObjective, slot: number, network: number): boolean {
  const of = slots[slot]!.network
  return of < 0 || of === network
}
