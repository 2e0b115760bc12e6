import { sameProcess, type Tenant } from '@pctodl/platform'

/**
 * The steps from the running tenants to the wanted ones. `from` is an index in the running tenants, `to` in the wanted
 * ones.
 */
export interface Changes {
  readonly kept: readonly { readonly from: number; readonly to: number }[]
  /** Processes that end and are not replaced. */
  readonly removed: readonly number[]
  /** Processes that restart with a smaller share, or with the same share and another network. */
  readonly shrinking: readonly { readonly from: number; readonly to: number }[]
  readonly growing: readonly { readonly from: number; readonly to: number }[]
  /** Tenants that start in a new process. */
  readonly added: readonly number[]
}

/**
 * Whether the running process can continue as the wanted tenant. A process that runs batch after batch cannot start to
 * serve requests, nor the reverse. A process that serves requests can switch to another service.
 */
function canBecome(running: Tenant, wanted: Tenant): boolean {
  return sameProcess(running, wanted) && (running.service === undefined) === (wanted.service === undefined)
}

/**
 * Plans which processes are kept, restarted or ended. A process is kept if its network and share stay the same. The
 * other running and wanted tenants are paired in descending order of share, so that few shares change. Processes shrink
 * and end before others grow and start, so that shares never sum to more than before or after the change.
 */
export function planChanges(running: readonly Tenant[], wanted: readonly Tenant[]): Changes {
  const free = new Set(running.keys())
  const kept: { from: number; to: number }[] = []
  const open: number[] = []
  wanted.forEach((tenant, to) => {
    // The process at the same index is preferred, which keeps the tenants' order. Among the others, one that already
    // serves the service is preferred.
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
