import { smClocksAt, smsOfShare } from '@pctodl/platform'
import { boardConstants } from '../board-constants.js'
import { CORRECTION_NODES, correctionGrid } from '../correction-grid.js'
import { kindLayout } from '../kind.js'
import { Mix, prepare, writeKind } from '../mix.js'
import { Solution, solve } from '../solve.js'
import type { ModelObjective } from './model-objective.js'
import type { ParameterCovariance } from './standard-errors.js'

/** Step of the finite differences, in the logarithm of a parameter. */
const STEP = 1e-4

/**
 * Variance of ln(throughput) or ln(power) at the nodes of the corrections, due to uncertain parameters of one stage. It
 * is g' C g, where C is the covariance of the parameters and g is the gradient at the node. The gradient holds for like
 * tenants at the middle SM clock, as many as the node has or as fit.
 *
 * @returns variances by memory clock, then in the node order of `correctionGrid`
 */
export function nodeVariances(
  objective: ModelObjective,
  network: number,
  { free, covariance }: ParameterCovariance,
  quantity: 'totalThroughput' | 'powerW',
): Float64Array[] {
  const used = free
    .map((slot, at) => ({ slot, at, of: objective.slots[slot]!.network }))
    .filter(({ of }) => of < 0 || of === network)
  const point = objective.pack()
  const base = valuesAtNodes(objective, network, quantity)
  const gradients = used.map(({ slot }) => {
    const shifted = Float64Array.from(point)
    shifted[slot]! += STEP
    objective.unpack(shifted)
    const values = valuesAtNodes(objective, network, quantity)
    return values.map((list, m) => list.map((value, i) => (value - base[m]![i]!) / STEP))
  })
  objective.unpack(point)
  return base.map((list, m) =>
    list.map((_, i) => {
      let sum = 0
      used.forEach((a, j) => {
        used.forEach((b, k) => {
          sum += gradients[j]![m]![i]! * covariance[a.at * free.length + b.at]! * gradients[k]![m]![i]!
        })
      })
      return Math.max(0, sum)
    }),
  )
}

/** Logarithms of the quantity at all nodes, by memory clock, at the current parameters. */
function valuesAtNodes(
  { spec, table: { memClocksMhz }, board, networks }: ModelObjective,
  network: number,
  quantity: 'totalThroughput' | 'powerW',
): Float64Array[] {
  const constants = boardConstants(spec, board)
  const record = new Float64Array(kindLayout.stride)
  const mix = new Mix()
  const solution = new Solution()
  return memClocksMhz.map((memClockMhz, m) => {
    const clocks = smClocksAt(spec, memClockMhz)!
    const values = new Float64Array(CORRECTION_NODES)
    let node = 0
    for (const mpsPercent of correctionGrid.mpsPercent) {
      for (const batchSize of correctionGrid.batchSize) {
        const kind = { network, sms: smsOfShare(spec, mpsPercent), batchSize }
        writeKind(constants, networks[network]!, kind, record, 0)
        for (const tenants of correctionGrid.tenants) {
          const offsets = new Int32Array(Math.min(tenants, Math.floor(100 / mpsPercent)))
          prepare(constants, record, offsets, offsets.length, m, mix)
          solve(constants, record, mix, clocks[clocks.length >> 1]!, solution)
          values[node++] = Math.log(solution[quantity])
        }
      }
    }
    return values
  })
}
