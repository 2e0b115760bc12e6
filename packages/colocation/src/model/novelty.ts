import { kinOf, workloadNameOf } from '../workload.js'

/** How well the training set covers a group, from best to worst. */
export const noveltyNames = [
  /** All members were measured with each other. */
  'known pairs',
  /** All members were measured, but not all with each other. */
  'new pairs',
  /** A member's network was measured in groups of this size, in its mode, with a smaller and a larger batch. */
  'batch size between',
  /** A member's network was measured in its mode with another batch size. */
  'new batch size',
  /** A member's network was not measured in its mode. */
  'new network',
] as const
export type Novelty = (typeof noveltyNames)[number]

/** Which workloads and pairs were measured with co-runners. */
export class Acquaintance {
  readonly #names = new Set<string>()
  /** Measured batch sizes by network and mode, for each number of members and for any number (key 0). */
  readonly #batchSizes = new Map<string, Set<number>>()
  readonly #meetings = new Map<string, number>()
  readonly #sizes = new Set<number>()

  constructor(groups: Iterable<readonly string[]>) {
    for (const names of groups) {
      this.#sizes.add(names.length)
      for (const name of names) {
        this.#names.add(name)
        for (const members of [0, names.length]) this.#sizesOf(name, members).add(batchSizeOf(name))
      }
      for (const pair of pairsOf(names)) this.#meetings.set(pair, (this.#meetings.get(pair) ?? 0) + 1)
    }
  }

  knows(name: string): boolean {
    return this.#names.has(name)
  }

  hasSize(members: number): boolean {
    return this.#sizes.has(members)
  }

  /**
   * @param meetings minimum number of measured colocations of a pair for the pair to be known: 2 if the group itself
   *   was measured, so that it does not count
   */
  noveltyOf(names: readonly string[], meetings = 1): Novelty {
    const unseen = names.filter((name) => !this.knows(name))
    if (unseen.length > 0) {
      const all = unseen.map((name) => this.unseenNoveltyOf(name, names.length))
      return noveltyNames.findLast((novelty) => all.includes(novelty))!
    }
    const areKnown = [...pairsOf(names)].every((pair) => (this.#meetings.get(pair) ?? 0) >= meetings)
    return areKnown ? 'known pairs' : 'new pairs'
  }

  /** Novelty of a workload in a group of this size, assuming that it was not measured itself. */
  unseenNoveltyOf(name: string, members: number): Novelty {
    const own = batchSizeOf(name)
    if (![...this.#sizesOf(name, 0)].some((size) => size !== own)) return 'new network'
    const others = [...this.#sizesOf(name, members)]
    const isBetween = others.some((size) => size < own) && others.some((size) => size > own)
    return isBetween ? 'batch size between' : 'new batch size'
  }

  #sizesOf(name: string, members: number): Set<number> {
    const key = `${kinOf(name)} ${members}`
    const known = this.#batchSizes.get(key) ?? new Set()
    this.#batchSizes.set(key, known)
    return known
  }
}

/** Returns the batch size in a workload name; 0 for a name in another format. */
function batchSizeOf(name: string): number {
  return workloadNameOf(name)?.batchSize ?? 0
}

/** Distinct pairs of a group's members. A workload that occurs twice is paired with itself. */
function pairsOf(names: readonly string[]): Set<string> {
  return new Set(names.flatMap((a, i) => names.slice(i + 1).map((b) => (a < b ? `${a}\n${b}` : `${b}\n${a}`))))
}
