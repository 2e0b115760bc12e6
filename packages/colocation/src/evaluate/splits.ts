import { z } from 'zod'
import { type Colocation, contains } from '../colocation.js'
import type { ColocationRow } from '../tables/colocation-table.js'
import { TableError } from '../tables/table-error.js'
import { kinOf } from '../workload.js'

/** Which measured colocations a model may learn from and which it is judged by. */
export interface Split<C extends Colocation = Colocation> {
  /** For messages and tables, e.g. `n_occur 3, seed 10`. */
  readonly name: string
  readonly train: readonly C[]
  readonly test: readonly C[]
  /** The part of `train` that the published code really fits to; absent where no list of it is published. */
  readonly publishedFit?: readonly C[]
}

const rowNumbers = z.array(z.int().nonnegative())
const publishedSplits = z.record(
  z.string(),
  z.record(
    z.string(),
    z.object({ train: rowNumbers, test: rowNumbers.optional(), train_inner80: rowNumbers.optional() }),
  ),
)

/**
 * Read published splits: by level (n_occur or train ratio) and seed the row numbers of `train`; of `test`, or the
 * complement where it is absent; and of `train_inner80` where it is known.
 *
 * @returns splits by level, in the file's order
 * @throws TableError naming what is wrong
 */
export function parseSplits<C extends ColocationRow>(
  text: string,
  colocations: readonly C[],
  file = 'splits',
): Map<string, Split<C>[]> {
  const byRow = new Map(colocations.map((colocation) => [colocation.row, colocation]))
  const pick = (rows: readonly number[]) =>
    rows.map((row) => {
      const colocation = byRow.get(row)
      if (!colocation) throw new TableError(file, undefined, undefined, `row ${row} is not in the table of colocations`)
      return colocation
    })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new TableError(file, undefined, undefined, `not JSON: ${(error as Error).message}`, error)
  }
  const parsed = publishedSplits.safeParse(json)
  if (!parsed.success) throw new TableError(file, undefined, undefined, z.prettifyError(parsed.error), parsed.error)
  return new Map(
    Object.entries(parsed.data).map(([level, bySeed]) => [
      level,
      Object.entries(bySeed).map(([seed, { train, test, train_inner80 }]) => {
        const used = new Set(train)
        return {
          name: `${level}, seed ${seed}`,
          train: pick(train),
          test: test ? pick(test) : colocations.filter(({ row }) => !used.has(row)),
          ...(train_inner80 ? { publishedFit: pick(train_inner80) } : {}),
        }
      }),
    ]),
  )
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
 * One split per workload that nobody has measured in company: it is judged by the colocations that contain the workload and
 * learns from those that contain no workload of the same network and mode, whatever the batch size, or, `unseen` being its
 * batch size alone, from those that do not contain the workload itself. Workloads with fewer than two candidates are left out.
 */
export function unseenWorkloadSplits<C extends Colocation>(
  colocations: readonly C[],
  unseen: 'network' | 'batch size' = 'network',
): Split<C>[] {
  const names = new Set(colocations.flatMap(({ members }) => members.map(({ name }) => name)))
  return [...names].flatMap((target) => {
    const kin = kinOf(target)
    const test = colocations.filter(({ members }) => contains(members, target))
    if (test.length < 2) return []
    const isUnseen = (name: string) => (unseen === 'network' ? kinOf(name) === kin : name === target)
    const train = colocations.filter(({ members }) => !members.some(({ name }) => isUnseen(name)))
    return [{ name: target, train, test }]
  })
}
