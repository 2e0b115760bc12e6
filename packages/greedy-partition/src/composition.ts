import type { TenantKinds } from './tenant-kinds.js'

/** Kinds of tenants in ascending order. All orders of the same tenants therefore give the same composition. */
export type Composition = readonly number[]

/** A short key, which is equal for equal compositions in the same memory state. */
export function compositionKey(composition: Composition, memIndex: number): string {
  return String.fromCharCode(memIndex, ...composition)
}

/** A copy without one of each kind in `removed` (all must be present) and with the kinds in `added`. */
export function changed(composition: Composition, removed: readonly number[], added: readonly number[]): Composition {
  const next = composition.slice()
  for (const kind of removed) next.splice(next.indexOf(kind), 1)
  for (const kind of added) {
    let at = next.length
    while (at > 0 && next[at - 1]! > kind) at--
    next.splice(at, 0, kind)
  }
  return next
}

/** Sum of a quantity of the tenants, such as their shares or memory. `values` has one value per kind. */
export function sumOf(values: ArrayLike<number>, composition: Composition): number {
  let sum = 0
  for (const kind of composition) sum += values[kind]!
  return sum
}

/** Number of tenants of each network. */
export function tenantsPerNetwork(kinds: TenantKinds, composition: Composition): number[] {
  const counts = new Array<number>(kinds.networks.length).fill(0)
  for (const kind of composition) counts[kinds.network[kind]!]!++
  return counts
}

/** Whether every requested network has a tenant. */
export function isComplete(kinds: TenantKinds, composition: Composition): boolean {
  // The kinds of a network are consecutive and the composition ascends, so the networks ascend too.
  let seen = 0
  for (const kind of composition) if (kinds.network[kind] === seen) seen++
  return seen === kinds.networks.length
}
