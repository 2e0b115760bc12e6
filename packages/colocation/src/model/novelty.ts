import { kinOf } from '../workload.js'

/**
 * How much of a group was seen before: all of its members beside each other; all of them, though some never beside each other;
 * a workload that was never seen in company, though its network in its mode was with another batch size; or not even that.
 */
export const noveltyNames = ['known pairs', 'new pairs', 'new batch size', 'new network'] as const
export type Novelty = (typeof noveltyNames)[number]

/** What was seen of workloads in company. */
export class Acquaintance {
  readonly #names = new Set<string>()
  readonly #kin = new Set<string>()
  /** Colocations in which two workloads met. */
  readonly #meetings = new Map<string, number>()
  readonly #sizes = new Set<number>()

  /** @param groups names of the members of each measured colocation */
  constructor(groups: Iterable<readonly string[]>) {
    for (const names of groups) {
      this.#sizes.add(names.length)
      for (const name of names) {
        this.#names.add(name)
        this.#kin.add(kinOf(name))
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

  /** @param meetings how often two have to have met to know each other; 2 where the group itself is one of those measured */
  noveltyOf(names: readonly string[], meetings = 1): Novelty {
    const strangers = names.filter((name) => !this.knows(name))
    if (strangers.some((name) => !this.#kin.has(kinOf(name)))) return 'new network'
    if (strangers.length > 0) return 'new batch size'
    return [...pairsOf(names)].every((pair) => (this.#meetings.get(pair) ?? 0) >= meetings)
      ? 'known pairs'
      : 'new pairs'
  }
}

/** Each two of a group once; a workload beside itself is a pair too. */
function pairsOf(names: readonly string[]): Set<string> {
  return new Set(names.flatMap((a, i) => names.slice(i + 1).map((b) => (a < b ? `${a}\n${b}` : `${b}\n${a}`))))
}
