import { type Colocation, contains } from '../colocation.js'
import { Acquaintance } from '../model/novelty.js'
import { kinOf } from '../workload.js'

export interface Split<C extends Colocation = Colocation> {
  /** Name for messages and tables, e.g. `n_occur 3, seed 10`. */
  readonly name: string
  readonly train: readonly C[]
  readonly test: readonly C[]
}

const PARTS = 5

/**
 * Splits the colocations of one size into five parts by their positions, for cross-validation. Each part is the test
 * set once; the others train.
 *
 * @param others colocations of other sizes, always for training
 */
export function leftOutSplits<C extends Colocation>(colocations: readonly C[], others: readonly C[]): Split<C>[] {
  return Array.from({ length: PARTS }, (_, part) => ({
    name: `part ${part + 1} of ${PARTS}`,
    train: [...colocations.filter((_one, i) => i % PARTS !== part), ...others],
    test: colocations.filter((_one, i) => i % PARTS === part),
  }))
}

/**
 * Makes one split for each workload with at least two colocations; these are the test set. The training set depends on
 * `unseen`:
 *
 * - `network`: colocations without any workload of the same network and mode
 * - `batch size`: colocations without this workload
 * - `batch size between`: as `batch size`, only for workloads with a smaller and a larger known batch size
 */
export function unseenWorkloadSplits<C extends Colocation>(
  colocations: readonly C[],
  unseen: 'network' | 'batch size' | 'batch size between' = 'network',
): Split<C>[] {
  const names = new Set(colocations.flatMap(({ members }) => members.map(({ name }) => name)))
  return [...names].flatMap((target) => {
    const kin = kinOf(target)
    const test = colocations.filter(({ members }) => contains(members, target))
    if (test.length < 2) return []
    const isUnseen = (name: string) => (unseen === 'network' ? kinOf(name) === kin : name === target)
    const train = colocations.filter(({ members }) => !members.some(({ name }) => isUnseen(name)))
    if (unseen === 'batch size between') {
      const known = new Acquaintance(train.map(({ members }) => members.map(({ name }) => name)))
      if (known.unseenNoveltyOf(target, test[0]!.members.length) !== unseen) return []
    }
    return [{ name: target, train, test }]
  })
}
