import type { EngineJob } from '../engine/engine-job.js'
import type { JobGroup } from './allocation-solver.js'
import { WholeGpuMechanism } from './mechanism.js'

/** Maximises throughput as if servers could lend each other CPU and memory: an upper bound, not a feasible schedule. */
export class OptimalMechanism extends WholeGpuMechanism {
  /** Solutions by number of jobs of each kind, since the same few combinations recur. */
  readonly #known = new Map<string, readonly (readonly number[])[]>()

  settle(): void {
    const { running } = this
    if (!running.anyChanged) return
    running.takeChanged()
    const groups = new Map<string, { readonly members: EngineJob[]; readonly group: Omit<JobGroup, 'count'> }>()
    for (const job of [...new Set(running.pool.residents.flat())].sort((a, b) => a.index - b.index)) {
      const share = this.rules.fairShare(job.placement!)
      const key = `${job.kind.number}/${share.cpus}/${share.memoryGb}`
      if (!groups.has(key)) {
        const { options } = this.rules.options(job, share)
        groups.set(key, { members: [], group: { gpus: job.gpus, options } })
      }
      groups.get(key)!.members.push(job)
    }
    const ordered = [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
    const signature = ordered.map(([key, { members }]) => `${key}*${members.length}`).join()
    let counts = this.#known.get(signature)
    if (counts === undefined) {
      const problem = ordered.map(([, { members, group }]) => ({ ...group, count: members.length }))
      counts = running.options.solver!.solve({ ...running.totals, groups: problem }).counts
      this.#known.set(signature, counts)
    }
    ordered.forEach(([, { members, group }], i) => {
      let next = 0
      group.options.forEach((option, k) => {
        for (let n = 0; n < counts[i]![k]!; n++) running.feed(members[next++]!, option)
      })
    })
  }
}
