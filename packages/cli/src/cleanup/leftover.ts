/** Something that an ended run of this user left behind. */
export interface Leftover {
  readonly kind: 'worker' | 'mps-daemon' | 'board'
  /** Description as text. */
  readonly what: string
  /**
   * Ends or restores it.
   *
   * @returns what was done, as text
   * @throws if that failed
   */
  readonly remove: () => Promise<string>
}

/** Something that looks like a leftover but must not be removed, with the reason. */
export interface LeftAlone {
  readonly what: string
  readonly why: string
}

export interface Leftovers {
  readonly leftovers: readonly Leftover[]
  readonly leftAlone: readonly LeftAlone[]
}
