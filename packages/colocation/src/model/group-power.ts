import { mean, sum } from '@pctodl/numerics'
import { type Colocation, keptShares, type Members } from '../colocation.js'
import { assertInput } from '../input-checks.js'
import type { GroupPower } from '../select/group-judge.js'
import type { Workload } from '../workload.js'

export interface FittedGroupPower {
  /** Power that the members share, W. It counts once, and is about the power of the board when any kernel runs. */
  readonly sharedW: number
  /** Highest power measured, W. Near it the board's limit applies, so no prediction exceeds it. */
  readonly maxW: number
  /** Mean absolute leave-one-out error over the training groups, percent. */
  readonly mapePercent: number
  readonly groups: number
}

const MIN_GROUPS = 5

/**
 * Power of a group: a shared part, plus each member's solo power above that part in proportion to its retained
 * throughput:
 *
 *     P = s + sum of kept_i (P_i - s), at most the highest measured power
 *
 * `P_i` is the member's solo power. The only unknown, `s`, is fitted to measured groups by least squares.
 */
export class GroupPowerModel {
  constructor(readonly fitted: FittedGroupPower) {}

  /**
   * @param colocations those without `powerW`, or with a member without it, are skipped
   * @returns null if fewer than five remain
   */
  static fit(colocations: readonly Colocation[]): GroupPowerModel | null {
    const measured = colocations.filter(
      ({ powerW, members }) => powerW !== undefined && members.every((member) => member.powerW !== undefined),
    )
    if (measured.length < MIN_GROUPS) return null
    const rows = measured.map((colocation) => {
      const kept = keptShares(colocation)
      const ownW = sum(colocation.members.map((member, i) => kept[i]! * soloPowerW(member)))
      // Coefficient of `s` in the power of a group: the shared part counts once, not once for each member.
      const excess = 1 - sum(kept)
      return { powerW: colocation.powerW!, ownW, excess }
    })
    const products = rows.map(({ powerW, ownW, excess }) => excess * (powerW - ownW))
    const squares = rows.map(({ excess }) => excess ** 2)
    const [product, square] = [sum(products), sum(squares)]
    const minAlone = Math.min(...measured.flatMap(({ members }) => members.map(soloPowerW)))
    const sharedOf = (numerator: number, denominator: number) =>
      Math.min(minAlone, Math.max(0, denominator > 1e-12 ? numerator / denominator : minAlone))
    const maxW = Math.max(...measured.flatMap(({ powerW, members }) => [powerW!, ...members.map(soloPowerW)]))
    const errors = rows.map(({ powerW, ownW, excess }, i) => {
      const sharedW = sharedOf(product - products[i]!, square - squares[i]!)
      return Math.abs(Math.min(maxW, ownW + excess * sharedW) / powerW - 1)
    })
    const mapePercent = 100 * mean(errors)
    return new GroupPowerModel({ sharedW: sharedOf(product, square), maxW, mapePercent, groups: rows.length })
  }

  knows(members: Members): boolean {
    return members.every(({ powerW }) => powerW !== undefined)
  }

  readonly of: GroupPower = (members, kept) => {
    const { sharedW, maxW } = this.fitted
    const powerW = members.reduce((total, member, i) => total + kept[i]! * (soloPowerW(member) - sharedW), sharedW)
    return Math.min(maxW, powerW)
  }
}

function soloPowerW({ name, powerW }: Workload): number {
  const expected = "its power alone, W (column 'power' of the table of workloads)"
  assertInput(powerW !== undefined, `${name}: powerW`, 'not measured', expected)
  return powerW
}
