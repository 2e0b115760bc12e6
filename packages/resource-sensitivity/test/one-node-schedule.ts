import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import type { OneNodeHardware } from '../../job-array/test/one-node-slurm.js'
import type { EngineOptions } from '../src/engine/scheduling-options.js'
import type { SlurmScheduleOptions } from '../src/execute/slurm-schedule-executor.js'
import type { Cluster } from '../src/index.js'
import type { JobProfile } from '../src/job-profile.js'

/** What the one node pretends to have; the jobs on it only wait, so it may. */
export const hardware: OneNodeHardware = { cpus: 16, gpus: 4, memoryMb: 1000 }

export const cluster: Cluster = { servers: [{ count: 1, gpus: 4, cpus: 16, memoryGb: 1, storageMBps: 500 }] }

const base = {
  modelClass: 'image' as const,
  memoryGbPerGpu: [0.05],
  iterationS: 0.01,
  speedupAtDemand: 1,
  spreadPenalty: 1,
}

/** One is twice as fast with twice the cores, one content with a single core. */
export const profiles: readonly JobProfile[] = [
  {
    ...base,
    model: 'hungry',
    cpusPerGpu: [2, 4, 8],
    throughput: [[0.5], [1], [2]],
    demand: { cpus: 8, memoryGb: 0.05 },
  },
  { ...base, model: 'modest', cpusPerGpu: [1], throughput: [[1]], demand: { cpus: 1, memoryGb: 0.05 } },
]

const ratesByLimitW = { 150: 50, 300: 100 }

/** Twice as fast with twice the limit. */
const wattProfile: JobProfile = {
  ...{ ...base, model: 'watts', cpusPerGpu: [1], throughput: [[1]], demand: { cpus: 1, memoryGb: 0.05 } },
  gpus: Object.entries(ratesByLimitW).map(([limit, rate]) => ({
    ...{ gpuType: 'big', powerLimitW: Number(limit), throughput: [[rate / 100]], dynamicPowerW: Number(limit) - 25 },
  })),
}

/** The node as a server of four GPUs that idle at 25 W. */
export const wattRules: EngineOptions = {
  cluster: { servers: [{ ...cluster.servers[0]!, gpuType: 'big', idlePowerW: 25 }] },
  profiles: [wattProfile],
  powerBudgetW: 1000,
  policy: 'fifo',
  mechanism: 'tune',
  roundS: 60,
}

/**
 * How those jobs are run on the node: as processes that go as their profiles say, and heed the contract.
 *
 * @param startS that each takes to come up
 */
export function pacedJobs(folder: string, startS = 0): Pick<SlurmScheduleOptions, 'workDir' | 'nodes' | 'commandOf'> {
  for (const profile of [...profiles, { ...wattProfile, ratesByLimitW }]) {
    writeFileSync(path.join(folder, `${profile.model}.json`), JSON.stringify(profile))
  }
  const script = path.join(import.meta.dirname, 'paced-job.mjs')
  return {
    workDir: path.join(folder, 'work'),
    nodes: [hostname().split('.')[0]!],
    commandOf: ({ model }) => [process.execPath, script, path.join(folder, `${model}.json`), String(startS)],
  }
}
