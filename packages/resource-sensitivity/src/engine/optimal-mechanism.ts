import type { AllocationSolver, AllocationWeight, JobGroup } from '../optimal/allocation-problem.js'
import type { Placer } from './placer.js'
import type { RunningJobs } from './running-jobs.js'
import type { ShareRules } from './share-rules.js'
import { WholeGpuMechanism } from './whole-gpu-mechanism.js'

/**
 * The largest sum of throughputs if CPU and memory could be lent from server to server: an upper bound to compare with, not a
 * schedule that servers could follow.
 */
export class OptimalMechanism extends WholeGpuMechanism {
  readonly #rules: ShareRules
  readonly #solver: AllocationSolver
  readonly #weight: AllocationWeight
  readonly #totals: { readonly cpus: number; readonly memoryGb: number }
  readonly #known = new Map<string, readonly (readonly number[])[]>()

  constructor(
    running: RunningJobs,
    placer: Placer,
    rules: ShareRules,
    solver: AllocationSolver,
    weight: AllocationWeight,
    totals: { cpus: number; memoryGb: number },
  ) {
    super(running, placer)
    this.#rules = rules
    this.#solver = solver
    this.#weight = weight
    this.#totals = totals
  }

  settle(): void {
    const { running } = this
    const { table, pool } = running
    if (!running.anyChanged) return
    running.takeChanged()
    const jobs = [...new Set(pool.residents.flat())].sort((a, b) => a - b)
    const groups = new Map<string, { members: number[]; group: Omit<JobGroup, 'count'> }>()
    for (const job of jobs) {
      const share = this.#rules.fairShare(running.placementOf(job))
      const key = `${table.classOf[job]}/${share.cpus}/${share.memoryGb}`
      const known = groups.get(key)
      if (known) known.members.push(job)
      else {
        const { options, fairThroughput } = this.#rules.options(table.profileOf[job]!, share, table.gpus[job]!)
        const group = { gpus: table.gpus[job]!, options, leastThroughput: fairThroughput }
        groups.set(key, { members: [job], group })
      }
    }
    const keys = [...groups.keys()].sort()
    const ordered = keys.map((key) => groups.get(key)!)
    const signature = keys.map((key) => `${key}*${groups.get(key)!.members.length}`).join()
    let counts = this.#known.get(signature)
    if (counts === undefined) {
      const problem = ordered.map(({ members, group }) => ({ ...group, count: members.length }))
      counts = this.#solver.solve({ ...this.#totals, groups: problem, weight: this.#weight }).counts
      this.#known.set(signature, counts)
    }
    ordered.forEach(({ members, group }, i) => {
      let next = 0
      group.options.forEach((option, k) => {
        for (let n = 0; n < counts[i]![k]!; n++) {
          running.feed(members[next++]!, option.cpus, option.memoryGb, option.throughput)
        }
      })
    })
  }
}
