import { sameProcess, type Tenant } from '@pctodl/platform'

/** What turns the running tenants into the wanted ones. Indices `from` are of running tenants, `to` of wanted ones. */
export interface Changes {
  readonly kept: readonly { readonly from: number; readonly to: number }[]
  /** Ended without a successor. */
  readonly removed: readonly number[]
  /** Restarted with a smaller share, or with the same share of another network. */
  readonly shrinking: readonly { readonly from: number; readonly to: number }[]
  readonly growing: readonly { readonly from: number; readonly to: number }[]
  /** Started without a predecessor. */
  readonly added: readonly number[]
}

/** A process that runs freely cannot answer requests, nor the other way round; one that does can answer those of another service. */
function canBecome(running: Tenant, wanted: Tenant): boolean {
  return sameProcess(running, wanted) && (running.service === undefined) === (wanted.service === undefined)
}

/**
 * Who stays, who is restarted as what, who goes. A process is kept where network and share stay. The others are paired, the
 * largest with the largest, so that few shares move; whatever shrinks or goes is done before anything grows or comes, so the
 * shares in use never sum to more than before or after.
 */
export function planChanges(running: readonly Tenant[], wanted: readonly Tenant[]): Changes {
  const free = new Set(running.keys())
  const kept: { from: number; to: number }[] = []
  const open: number[] = []
  wanted.forEach((tenant, to) => {
    // Its own place first: the order of tenants stays what it was. Then one that has its service already.
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
