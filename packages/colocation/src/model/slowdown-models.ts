import type { Colocation, Members } from '../colocation.js'
import type { KeptShareSource } from '../select/group-judge.js'
import type { Workload } from '../workload.js'
import type { ColocationPrediction } from './prediction.js'
import { SlowdownModel, type SlowdownOptions } from './slowdown-model.js'
import type { SlowdownTable } from './slowdown-table.js'

/** Fewer colocations of one size than this are not worth a model of their own. */
const LEAST_OF_SIZE = 10

/**
 * One slowdown model per number of members that was measured, and one of all for the numbers that were not: three light jobs
 * may be in each other's way where two are not, so what is measured of pairs is better learnt from pairs.
 */
export class SlowdownModels {
  readonly #bySize: ReadonlyMap<number, SlowdownModel>
  readonly #ofAll: SlowdownModel

  private constructor(bySize: ReadonlyMap<number, SlowdownModel>, ofAll: SlowdownModel) {
    this.#bySize = bySize
    this.#ofAll = ofAll
  }

  /** @throws InvalidInputError as `SlowdownModel.fit` does */
  static fit(colocations: readonly Colocation[], options: SlowdownOptions = {}): SlowdownModels {
    const sizes = new Set(colocations.map(({ members }) => members.length))
    const bySize = new Map<number, SlowdownModel>()
    for (const size of sizes) {
      const ofSize = colocations.filter(({ members }) => members.length === size)
      if (ofSize.length >= LEAST_OF_SIZE) bySize.set(size, SlowdownModel.fit(ofSize, options))
    }
    const only = sizes.size === 1 ? [...bySize.values()][0] : undefined
    return new SlowdownModels(bySize, only ?? SlowdownModel.fit(colocations, options))
  }

  /** The model that predicts colocations of so many members. */
  ofSize(members: number): SlowdownModel {
    return this.#bySize.get(members) ?? this.#ofAll
  }

  /** @throws InvalidInputError as `SlowdownModel.predict` does */
  predict(members: Members, level?: number): ColocationPrediction {
    return this.ofSize(members.length).predict(members, level)
  }

  /** Kept shares of groups of any size, for `groupPool` and `rankPartners`. */
  keptShareSource(workloads: readonly Workload[]): KeptShareSource {
    const tables = new Map<SlowdownModel, SlowdownTable>()
    const tableOf = (members: number) => {
      const model = this.ofSize(members)
      const table = tables.get(model) ?? model.slowdownTable(workloads)
      tables.set(model, table)
      return table
    }
    return { workloads, keptShares: (members: readonly number[]) => tableOf(members.length).keptShares(members) }
  }
}
