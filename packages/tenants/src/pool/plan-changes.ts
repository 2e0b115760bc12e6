import { sameProcess, type Tenant } from '@pctodl/platform'

/** The steps from running to wanted tenants. `from` indexes running tenants, `to` wanted ones. */
export interface Changes {
  readonly kept: readonly { readonly from: number; readonly to: number }[]
  /** Ended without a successor. */
  readonly removed: readonly number[]
  /** Restarted with a smaller share, or as another network with the same share. */
  readonly shrinking: readonly { readonly from: number; readonly to: number }[]
  readonly growing: readonly { readonly from: number; readonly to: number }[]
  /** Started without a predecessor. */
  readonly added: readonly number[]
}

/** A free-running process cannot become a serving one, nor vice versa. A serving one can switch to another service. */
function canBecome(running: Tenant, wanted: Tenant): boolean {
  return sameProcess(running, wanted) && (running.service === undefined) === (wanted.service === undefined)
}

/**
 * Plan which processes are kept, restarted or ended. A process is kept if its network and share do. The others are
 * paired, largest share with largest, so that few shares change. All shrinking and removal comes before growing and
 * adding, so that the shares in use never sum to more than before or after.
 */
export function planChanges(running: readonly Tenant[], wanted: readonly Tenant[]): Changes {
  const free = new Set(running.keys())
  const kept: { from: number; to: number }[] = []
  const open: number[] = []
  wanted.forEach((tenant, to) => {
    // Prefer its own position, to keep the tenants' order, then any other; among these, one that already has its
    // service.
    const candidates = [to, ...free].filter((from) => free.has(from) && canBecome(running[from]!, tenant))
    const from = candidates.find((candidate) => running[candidate]!.service === tenant.service) ?? candidates[0]
    if (from === undefined) open.push(to)
    else {
      free.delete(from)
      kept.push({ from, to })
    }
  })
  const byShare = (tenants: readonly Tenant[]) => (a: number, b: number) =>
    tenants[b]!.mpsPercent - tenants[a]!.mpsPercent || a - b
  const leaving = [...free].sort(byShare(running))
  const coming = open.sort(byShare(wanted))
  const pairs = coming.slice(0, leaving.length).map((to, i) => ({ from: leaving[i]!, to }))
  const grows = ({ from, to }: { from: number; to: number }) => wanted[to]!.mpsPercent > running[from]!.mpsPercent
  return {
    kept,
    removed: leaving.slice(pairs.length),
    shrinking: pairs.filter((pair) => !grows(pair)),
    growing: pairs.filter(grows),
    added: coming.slice(pairs.length),
  }
}
