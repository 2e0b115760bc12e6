import type { Placer } from './placer.js'
import type { RunningJobs } from './running-jobs.js'
import type { ShareRules } from './share-rules.js'
import { WholeGpuMechanism } from './whole-gpu-mechanism.js'

/** Everybody gets the GPU-proportional share of CPU and memory, and nobody more. */
export class FairMechanism extends WholeGpuMechanism {
  readonly #rules: ShareRules

  constructor(running: RunningJobs, placer: Placer, rules: ShareRules) {
    super(running, placer)
    this.#rules = rules
  }

  settle(): void {
    const { running } = this
    const { table, pool } = running
    for (const server of running.takeChanged()) {
      for (const job of pool.residents[server]!) {
        const share = this.#rules.fairShare(running.placementOf(job))
        running.feed(
          job,
          share.cpus,
          share.memoryGb,
          this.#rules.options(table.profileOf[job]!, share, table.gpus[job]!).fairThroughput,
        )
      }
    }
  }
}
