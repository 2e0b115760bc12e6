import { type JobProfile, type PerGpuShare, throughputAt } from '../profile/job-profile.js'

/** CPU and memory per GPU, and the throughput they give. */
export interface AllocationOption extends PerGpuShare {
  readonly throughput: number
}

/** Allocations for jobs of one model on one kind of server, none slower than the GPU-proportional share. */
export interface AllocationOptions {
  /** Throughput with the GPU-proportional share. */
  readonly fairThroughput: number
  /** Cheapest first, then by rising throughput; no option is dominated in CPU, memory and throughput. */
  readonly options: readonly AllocationOption[]
}

/** Tolerance that keeps rounding in the tables from making a fair share look slower than itself. */
const SAME = 1e-9

/**
 * Returns the options of a model on a server with the GPU-proportional share `fair`: the points of the model's table
 * and the fair share itself. The first option needs no more than the fair share of any resource. So a server can always
 * run as many jobs as it has GPUs.
 */
export function allocationOptions(profile: JobProfile, fair: PerGpuShare): AllocationOptions {
  const fairThroughput = throughputAt(profile, fair.cpus, fair.memoryGb)
  const candidates: AllocationOption[] = [{ ...fair, throughput: fairThroughput }]
  profile.cpusPerGpu.forEach((cpus, i) => {
    profile.memoryGbPerGpu.forEach((memoryGb, j) => {
      const throughput = profile.throughput[i]![j]!
      if (throughput >= fairThroughput * (1 - SAME)) candidates.push({ cpus, memoryGb, throughput })
    })
  })
  const kept = candidates.filter((option, i) => !candidates.some((other, k) => beats(other, option, k < i)))
  const cost = ({ cpus, memoryGb }: AllocationOption) => cpus / fair.cpus + memoryGb / fair.memoryGb
  const withinFair = kept.filter((option) => option.cpus <= fair.cpus && option.memoryGb <= fair.memoryGb)
  const cheapest = withinFair.reduce((best, option) => (cost(option) < cost(best) ? option : best))
  const others = kept.filter((option) => option !== cheapest)
  others.sort((a, b) => a.throughput - b.throughput || cost(a) - cost(b))
  return { fairThroughput, options: [cheapest, ...others] }
}

function beats(a: AllocationOption, b: AllocationOption, first: boolean): boolean {
  if (a.cpus > b.cpus || a.memoryGb > b.memoryGb || a.throughput < b.throughput) return false
  return first || a.cpus < b.cpus || a.memoryGb < b.memoryGb || a.throughput > b.throughput
}
