/** A tenant in a search: its share in units of the share step, and the index of its batch size. */
export interface Slot {
  readonly units: number
  readonly batch: number
}

/**
 * Generates every multiset of shares with a sum of at most `units`. The shares of a multiset are in descending order.
 */
export function* shareMultisets(units: number, maxTenants: number): Generator<number[]> {
  function* extend(prefix: number[], free: number): Generator<number[]> {
    if (prefix.length > 0) yield prefix
    if (prefix.length === maxTenants) return
    for (let next = Math.min(free, prefix.at(-1) ?? free); next >= 1; next--) {
      yield* extend([...prefix, next], free - next)
    }
  }
  yield* extend([], units)
}

/**
 * Returns the sets of tenants that are one change away, in canonical order and without duplicates. A change is one of
 * these: the next or previous batch size for one tenant, for all tenants with the same share, or for all; one unit of
 * share moved, taken or returned; a tenant split, two merged, one added or one removed.
 */
export function neighbours(
  slots: readonly Slot[],
  units: number,
  batches: number,
  maxTenants: number,
): readonly (readonly Slot[])[] {
  const found = new Map<string, readonly Slot[]>()
  const add = (changed: readonly Slot[]) => {
    if (changed.length === 0 || changed.length > maxTenants) return
    if (changed.some(({ units: u, batch }) => u < 1 || batch < 0 || batch >= batches)) return
    if (changed.reduce((sum, slot) => sum + slot.units, 0) > units) return
    const sorted = [...changed].sort((a, b) => b.units - a.units || b.batch - a.batch)
    found.set(sorted.map((slot) => `${slot.units} ${slot.batch}`).join(), sorted)
  }
  const change = (concerns: (slot: Slot, index: number) => boolean, to: (slot: Slot) => Slot) =>
    add(slots.map((slot, i) => (concerns(slot, i) ? to(slot) : slot)))
  const without = (...indices: number[]) => slots.filter((_, i) => !indices.includes(i))

  for (const by of [-1, 1]) {
    const shifted = (slot: Slot) => ({ ...slot, batch: slot.batch + by })
    change(() => true, shifted)
    slots.forEach(({ units: share }, i) => {
      change((_, j) => j === i, shifted)
      change((slot) => slot.units === share, shifted)
      change(
        (_, j) => j === i,
        (slot) => ({ ...slot, units: slot.units + by }),
      )
    })
  }
  slots.forEach((slot, i) => {
    add(without(i))
    for (let part = 1; part <= slot.units / 2; part++) {
      add([...without(i), { ...slot, units: part }, { ...slot, units: slot.units - part }])
    }
    for (let share = 1; share <= units; share++) add([...slots, { ...slot, units: share }])
    slots.forEach((other, j) => {
      if (j === i) return
      add([...without(i, j), { ...slot, units: slot.units + 1 }, { ...other, units: other.units - 1 }])
      add([...without(i, j), { ...slot, units: slot.units + other.units }])
    })
  })
  return [...found.values()]
}
