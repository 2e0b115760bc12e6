import { mean } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { type Colocation, keptShares, type Members, membersLabel } from '../colocation.js'
import type { GroupPower } from '../select/group-judge.js'

/** Power of groups, learnt from groups whose power was measured. */
export interface FittedGroupPower {
  /**
   * Power that members share and that adds up only once, W: about what the board draws when a kernel runs at all.
   */
  readonly sharedW: number
  /** Most power that was ever measured, W: near it the board's limit holds, and no group is expected above. */
  readonly maxW: number
  /** Mean absolute error over the training groups, each predicted without itself, percent. */
  readonly mapePercent: number
  readonly groups: number
}

/** Fewer groups than this make no model. */
const MIN_GROUPS = 5

/**
 * A group draws what its members share, and of each member what it draws above that alone, in proportion to the throughput
 * that it keeps:
 *
 *     P = s + sum of kept_i (P_i - s), at most the most that was measured
 *
 * with `P_i` the member's power alone and the one unknown `s` by least squares over measured groups.
 */
export class GroupPowerModel {
  readonly fitted: FittedGroupPower

  constructor(fitted: FittedGroupPower) {
    this.fitted = fitted
  }

  /** Whether there are groups enough to learn from. */
  static canFit(colocations: readonly Colocation[]): boolean {
    return colocations.filter(isPowered).length >= MIN_GROUPS
  }

  /**
   * @param colocations those without `powerW`, or with a member without, are passed over
   * @throws InvalidInputError where fewer than five are left
   */
  static fit(colocations: readonly Colocation[]): GroupPowerModel {
    const measured = colocations.filter(isPowered)
    if (measured.length < MIN_GROUPS) {
      throw new InvalidInputError(
        'colocations',
        `${measured.length} with powerW`,
        `at least ${MIN_GROUPS} groups with a measured power (column 'power'), as have all of their members alone`,
      )
    }
    const rows = measured.map((colocation) => {
      const kept = keptShares(colocation)
      return {
        powerW: colocation.powerW!,
        ownW: colocation.members.reduce((sum, member, i) => sum + kept[i]! * soloPowerW(member), 0),
        // What the shared part counts too often where all members are added up.
        excess: 1 - kept.reduce((sum, share) => sum + share, 0),
      }
    })
    const products = rows.map(({ powerW, ownW, excess }) => excess * (powerW - ownW))
    const squares = rows.map(({ excess }) => excess ** 2)
    const [product, square] = [products, squares].map((values) => values.reduce((sum, value) => sum + value, 0)) as [
      number,
      number,
    ]
    const minAlone = Math.min(...measured.flatMap(({ members }) => members.map(soloPowerW)))
    const sharedOf = (numerator: number, denominator: number) =>
      Math.min(minAlone, Math.max(0, denominator > 1e-12 ? numerator / denominator : minAlone))
    const maxW = Math.max(...measured.flatMap(({ powerW, members }) => [powerW!, ...members.map(soloPowerW)]))
    const errors = rows.map(({ powerW, ownW, excess }, i) => {
      const sharedW = sharedOf(product - products[i]!, square - squares[i]!)
      return Math.abs(Math.min(maxW, ownW + excess * sharedW) / powerW - 1)
    })
    return new GroupPowerModel({
      sharedW: sharedOf(product, square),
      maxW,
      mapePercent: 100 * mean(errors),
      groups: rows.length,
    })
  }

  knows(members: Members): boolean {
    return members.every(({ powerW }) => powerW !== undefined)
  }

  /**
   * Power of a group, W; the form that `limits.power.of` takes.
   *
   * @throws InvalidInputError for a member whose power alone is unknown
   */
  readonly of: GroupPower = (members, kept) => {
    const { sharedW, maxW } = this.fitted
    const powerW = members.reduce((sum, member, i) => sum + kept[i]! * (soloPowerW(member) - sharedW), sharedW)
    return Math.min(maxW, powerW)
  }
}

function isPowered({ powerW, members }: Colocation): boolean {
  return powerW !== undefined && members.every((member) => member.powerW !== undefined)
}

function soloPowerW(member: Members[number]): number {
  if (member.powerW === undefined) {
    throw new InvalidInputError(
      `${membersLabel([member])}: powerW`,
      'not measured',
      "its power alone, W (column 'power' of the table of workloads)",
    )
  }
  return member.powerW
}
