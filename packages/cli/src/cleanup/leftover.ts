/** A leftover of an ended run of this user. */
export interface Leftover {
  readonly kind: 'worker' | 'mps-daemon' | 'board'
  /** Description for people. */
  readonly what: string
  /**
   * End it or restore it.
   *
   * @returns what was done, for people
   * @throws where that did not succeed
   */
  readonly remove: () => Promise<string>
}

/** Something that looks like a leftover but is left alone, and why. */
export interface LeftAlone {
  readonly what: string
  readonly why: string
}

export interface Leftovers {
  readonly leftovers: readonly Leftover[]
  readonly leftAlone: readonly LeftAlone[]
}
