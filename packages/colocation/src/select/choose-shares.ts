import { InvalidInputError } from '@pctodl/platform'
import type { SharePoint, ShareSweep } from '../tables/share-sweep-table.js'
import type { Objective } from './group-judge.js'

export interface ShareChoice extends SharePoint {
  /** Share of its exclusive throughput (on the whole board) that each member retains. */
  readonly keptShares: readonly number[]
  readonly value: number
}

/**
 * The best measured split of MPS shares for a colocation.
 *
 * @param exclusiveThroughputs of each member alone with the whole board, samples/s
 * @param minKeptShares minimum share of it that each member must retain. Default: none
 * @returns null where no measured split meets these minimums
 */
export function chooseShares(
  { members, points }: ShareSweep,
  exclusiveThroughputs: readonly number[],
  { objective, minKeptShares = [] }: { readonly objective: Objective; readonly minKeptShares?: readonly number[] },
): ShareChoice | null {
  if (exclusiveThroughputs.length !== members.length) {
    throw new InvalidInputError('exclusiveThroughputs', exclusiveThroughputs, `one per member (${members.length})`)
  }
  const choices = points.map(({ mpsPercents, throughputs }): ShareChoice => {
    const keptShares = throughputs.map((throughput, i) => throughput / exclusiveThroughputs[i]!)
    const summed = objective === 'throughput' ? throughputs : keptShares
    return { mpsPercents, throughputs, keptShares, value: summed.reduce((sum, value) => sum + value, 0) }
  })
  return choices
    .filter(({ keptShares }) => keptShares.every((kept, i) => kept >= (minKeptShares[i] ?? 0)))
    .reduce<ShareChoice | null>((best, choice) => (best && best.value >= choice.value ? best : choice), null)
}
