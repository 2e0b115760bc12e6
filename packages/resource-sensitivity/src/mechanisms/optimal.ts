import type { EngineJob } from '../engine/engine-job.js'
import type { RunningJobs } from '../engine/running-jobs.js'
import type { AllocationSolver, JobGroup } from './allocation-solver.js'
import { WholeGpuMechanism } from './mechanism.js'
import type { Placer } from './placer.js'
import type { ShareRules } from './share-rules.js'

/**
 * Maximises the sum of throughputs as if servers could lend CPU and memory to each other. This is an upper bound for
 * comparison, not a feasible schedule.
 */
export class OptimalMechanism extends WholeGpuMechanism {
  readonly #solver: AllocationSolver
  readonly #totals: { readonly cpus: number; readonly memoryGb: number }
  readonly #known = new Map<string, readonly (readonly number[])[]>()

  constructor(
    running: RunningJobs,
    rules: ShareRules,
    placer: Placer,
    solver: AllocationSolver,
    totals: { cpus: number; memoryGb: number },
  ) {
    super(running, rules, placer)
    this.#solver = solver
    this.#totals = totals
  }

  settle(): void {
    const { running } = this
    if (!running.anyChanged) return
    running.takeChanged()
    const groups = new Map<string, { readonly members: EngineJob[]; readonly group: Omit<JobGroup, 'count'> }>()
    for (const job of [...new Set(running.pool.residents.flat())].sort((a, b) => a.index - b.index)) {
      const share = this.rules.fairShare(job.placement!)
      const key = `${job.kind.number}/${share.cpus}/${share.memoryGb}`
      if (!groups.has(key)) {
        const { options, fairThroughput } = this.rules.options(job, share)
        groups.set(key, { members: [], group: { gpus: job.gpus, options, minThroughput: fairThroughput } })
      }
      groups.get(key)!.members.push(job)
    }
    const ordered = [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
    const signature = ordered.map(([key, { members }]) => `${key}*${members.length}`).join()
    let counts = this.#known.get(signature)
    if (counts === undefined) {
      const problem = ordered.map(([, { members, group }]) => ({ ...group, count: members.length }))
      counts = this.#solver.solve({ ...this.#totals, groups: problem }).counts
      this.#known.set(signature, counts)
    }
    ordered.forEach(([, { members, group }], i) => {
      let next = 0
      group.options.forEach((option, k) => {
        for (let n = 0; n < counts[i]![k]!; n++) {
          running.feed(members[next++]!, option.cpus, option.memoryGb, option.throughput)
        }
      })
    })
  }
}
