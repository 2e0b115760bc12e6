import { relativeVoltage } from '../board-constants.js'
import type { PerfModel } from '../perf-model.js'

/** Times and energies of a tenant's batches, by batch size, when the tenant runs alone. */
export interface BatchCosts {
  readonly aloneMs: Float64Array
  /** Energy of a batch above the energy of the idle board in the same time, J. */
  readonly energyJ: Float64Array
}

/** Number of cached entries at which the cache is cleared. */
const MAX_KEPT = 200_000

/**
 * Cached times and energies of batches of tenants that run alone. Pass one table to every `ServingModel` of a model, so
 * that configurations with common tenants and clocks share its entries.
 */
export class BatchCostTable {
  readonly #kept = new Map<string, BatchCosts>()

  constructor(readonly model: PerfModel) {}

  /** Power of the board with idle processes, W: power at zero activity plus the clock tree's power. */
  idlePowerW(smClockMhz: number, memClockMhz: number): number {
    const { boardParameters } = this.model.parameters
    const clock = smClockMhz / this.model.spec.boostClockMhz
    const voltage = relativeVoltage(boardParameters, clock)
    const { powerW } = boardParameters.idlePowerW.find((entry) => entry.memClockMhz === memClockMhz)!
    return powerW + voltage * voltage * clock * boardParameters.clockTreePowerW
  }

  /**
   * Costs of a tenant's batches when it runs alone.
   *
   * @param sizes result of `batchSizesUpTo` for the largest batch
   * @throws what `PerfModel.predict` throws
   */
  of(model: string, mpsPercent: number, sizes: readonly number[], smClockMhz: number, memClockMhz: number): BatchCosts {
    const key = `${model} ${mpsPercent} ${sizes.at(-1)} ${smClockMhz} ${memClockMhz}`
    let costs = this.#kept.get(key)
    if (costs === undefined) {
      costs = this.#predict(model, mpsPercent, sizes, smClockMhz, memClockMhz)
      if (this.#kept.size === MAX_KEPT) this.#kept.clear()
      this.#kept.set(key, costs)
    }
    return costs
  }

  #predict(
    model: string,
    mpsPercent: number,
    sizes: readonly number[],
    smClockMhz: number,
    memClockMhz: number,
  ): BatchCosts {
    const idleW = this.idlePowerW(smClockMhz, memClockMhz)
    const aloneMs = new Float64Array(sizes.length)
    const energyJ = new Float64Array(sizes.length)
    for (let s = 0; s < sizes.length; s++) {
      const tenants = [{ model, mpsPercent, batchSize: sizes[s]! }]
      const { powerW, tenants: predicted } = this.model.predict({ tenants, smClockMhz, memClockMhz })
      aloneMs[s] = predicted[0]!.latencyMs
      energyJ[s] = Math.max(0, (powerW - idleW) * aloneMs[s]!) / 1000
    }
    return { aloneMs, energyJ }
  }
}

/**
 * Batch sizes that a tenant runs: the powers of two below the largest size, and the largest. A batch is padded to the
 * next of these sizes.
 */
export function batchSizesUpTo(largest: number): number[] {
  const sizes: number[] = []
  for (let size = 1; size < largest; size *= 2) sizes.push(size)
  return [...sizes, largest]
}
