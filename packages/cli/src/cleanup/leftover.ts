/** Something that a run of ours which is gone has left behind. */
export interface Leftover {
  readonly kind: 'worker' | 'mps-daemon' | 'board'
  /** What it is, for people. */
  readonly what: string
  /**
   * End it or put it right.
   *
   * @returns what was done, for people
   * @throws where that did not succeed
   */
  readonly remove: () => Promise<string>
}

/** What looks like a leftover and is left alone, and why. */
export interface LeftAlone {
  readonly what: string
  readonly why: string
}

export interface Leftovers {
  readonly leftovers: readonly Leftover[]
  readonly leftAlone: readonly LeftAlone[]
}
