import { type Colocation, contains } from '../colocation.js'
import { Acquaintance } from '../model/novelty.js'
import { kinOf } from '../workload.js'

/** Which measured colocations a model may learn from and which it is judged by. */
export interface Split<C extends Colocation = Colocation> {
  /** For messages and tables, e.g. `n_occur 3, seed 10`. */
  readonly name: string
  readonly train: readonly C[]
  readonly test: readonly C[]
}

/** In how many parts the colocations of a size are left out. */
const PARTS = 5

/**
 * Splits of the colocations of one size into five parts, by place: each part is judged by what was learnt of the four others
 * and of all other sizes.
 *
 * @param others colocations of other sizes
 */
export function leftOutSplits<C extends Colocation>(colocations: readonly C[], others: readonly C[]): Split<C>[] {
  return Array.from({ length: PARTS }, (_, part) => ({
    name: `part ${part + 1} of ${PARTS}`,
    train: [...colocations.filter((_one, i) => i % PARTS !== part), ...others],
    test: colocations.filter((_one, i) => i % PARTS === part),
  }))
}

/**
 * One split per workload that nobody has measured beside co-runners: it is judged by the colocations that contain the workload and
 * learns from those that contain no workload of the same network and mode, whatever the batch size, or, `unseen` being its
 * batch size alone, from those that do not contain the workload itself; `batch size between` are those of them that lie between two others.
 * Workloads with fewer than two candidates are left out.
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
