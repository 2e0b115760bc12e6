import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { median } from '@pctodl/numerics'
import { OneNodeSlurm, slurmHindrance } from '../../job-array/test/one-node-slurm.js'
import { type EngineOptions, policyNames } from '../src/engine/scheduling-options.js'
import type { SlurmRun } from '../src/execute/slurm-schedule-executor.js'
import { generateTrace, simulate } from '../src/index.js'
import { executeSchedule, SlurmScheduleExecutor } from '../src/node.js'
import { cluster, hardware, pacedJobs, profiles } from '../test/one-node-schedule.js'
import { PlayedExecutor } from '../test/played-executor.js'

// Simulate a trace, run it on a real Slurm of one node, and compare: compare-execution.ts [jobs] [seed] [scale] [policy] [start-up of a job, s].
// Needs root and the Debian packages slurm-wlm and munge. Jobs wait as long as their profiles say and heed the checkpoint contract.

const hindrance = slurmHindrance()
if (hindrance !== undefined) throw new Error(`no Slurm here: ${hindrance}`)
const [count = 12, seed = 1, scale = 1] = process.argv.slice(2, 5).map(Number)
const policy = policyNames.find((name) => name === process.argv[5]) ?? 'fifo'
const comesUpS = Number(process.argv[6] ?? 0)
const jobs = generateTrace({
  ...{ jobs: count, jobsPerHour: 600 / scale, profiles, seed },
  split: { image: 1, language: 0, speech: 0 },
  durations: 'short',
}).map((job) => ({ ...job, gpus: Math.min(job.gpus, 4), iterations: Math.ceil((job.iterations * scale) / 500) }))
const rules: EngineOptions = {
  ...{ cluster, profiles, policy, mechanism: 'tune', roundS: 5 * scale },
  resizeCostS: 2,
  restartCostS: 2,
  startCostS: 0,
}
const slurm = new OneNodeSlurm(hardware)
const folder = mkdtempSync(path.join(tmpdir(), 'compare-execution-'))
try {
  await slurm.up()
  process.env['SLURM_CONF'] = slurm.configurationFile
  // What a job takes that has no work to speak of, one after the other: Slurm, the start of a process, seeing its end.
  const idle = Array.from({ length: 5 }, (_, id) => ({ id, model: 'modest', arrivalS: 0, iterations: 0.001, gpus: 4 }))
  const idleRuns: SlurmRun[] = []
  const calibration = new SlurmScheduleExecutor({
    ...{ ...pacedJobs(folder, comesUpS), workDir: path.join(folder, 'calibration') },
    onRun: (run) => idleRuns.push(run),
  })
  const idleJobs = await executeSchedule({ ...rules, policy: 'fifo', mechanism: 'fair', jobs: idle }, calibration)
  const startUpS = median(idleJobs.map(({ finishS, firstPlacedS }) => finishS - firstPlacedS!))
  const runs: SlurmRun[] = []
  const executor = new SlurmScheduleExecutor({
    ...{ ...pacedJobs(folder, comesUpS), pollMs: 1000 },
    onRun: (run) => {
      runs.push(run)
      console.error(`job ${run.jobId} run ${run.run}: Slurm took ${run.startUpS.toFixed(2)} s`)
    },
  })
  let actions = 0
  const executed = await executeSchedule(
    {
      ...{ ...rules, jobs },
      onActions: (timeS, list) => {
        actions += list.length
        for (const { type, jobId, run } of list) console.error(`${timeS.toFixed(2)} s: ${type} job ${jobId} run ${run}`)
      },
    },
    executor,
  )
  const bySlurmS = median(idleRuns.map((run) => run.startUpS))
  console.log(
    `${policy}, ${count} jobs, ${runs.length} runs, ${actions} actions; start-up of an idle job ${startUpS.toFixed(2)} s, ` +
      `of which Slurm ${bySlurmS.toFixed(2)} s`,
  )
  interface Completion {
    readonly job: { readonly id: number }
    readonly completionS: number
    readonly finishS: number
  }
  const meanS = (of: readonly Completion[]) => of.reduce((sum, { completionS }) => sum + completionS, 0) / count
  const lastS = (of: readonly Completion[]) => Math.max(...of.map(({ finishS }) => finishS))
  const compare = (how: string, simulated: readonly Completion[]) => {
    const say = (what: string, real: number, reckoned: number) =>
      console.log(
        `  ${what}: ${real.toFixed(2)} s executed, ${reckoned.toFixed(2)} s simulated, ${(100 * (real / reckoned - 1)).toFixed(2)} %`,
      )
    console.log(`${how}:`)
    say('mean completion', meanS(executed), meanS(simulated))
    say('makespan', lastS(executed), lastS(simulated))
    const off = simulated.map((job) => {
      const real = executed.find((other) => other.job.id === job.job.id)!
      return Math.abs(real.completionS / job.completionS - 1) * 100
    })
    console.log(
      `  single jobs: ${median(off).toFixed(2)} % off in the median, ${Math.max(...off).toFixed(2)} % at most`,
    )
  }
  const costs = { startCostS: startUpS, restartCostS: startUpS, resizeCostS: startUpS }
  compare('start-ups at no cost', simulate({ ...rules, restartCostS: 0, resizeCostS: 1e-6, jobs }).jobs)
  compare('the start-up of an idle job as cost', simulate({ ...rules, ...costs, jobs }).jobs)
  // Each start as long as it was, what it takes to begin and to be seen to end included; the last where the schedule has more of them.
  const startUpsOf = (jobId: number) => runs.filter((run) => run.jobId === jobId).map((run) => run.startUpS)
  const played = new PlayedExecutor(
    profiles,
    (jobId, start) => (startUpsOf(jobId)[start - 1] ?? startUpsOf(jobId).at(-1)!) + startUpS - bySlurmS,
  )
  compare('each start as long as it was', await executeSchedule({ ...rules, jobs }, played))
  // A schedule is no smooth function of time: where a job is done just before a round or just after, others run. So what the start-ups that were
  // measured make of it, from the shortest to the longest.
  const startUps = runs.map((run) => run.startUpS + startUpS - bySlurmS).sort((a, b) => a - b)
  console.log('simulated with start-ups as they were measured:')
  for (const cost of [0, 0.25, 0.5, 0.75, 1].map((part) => startUps[Math.round(part * (startUps.length - 1))]!)) {
    const costs = { startCostS: cost, restartCostS: cost, resizeCostS: cost }
    const simulated = simulate({ ...rules, ...costs, jobs }).jobs
    const times = simulated.map(({ job, completionS }) => `${job.id}: ${completionS.toFixed(0)}`).join(', ')
    console.log(`  ${cost.toFixed(2)} s: mean completion ${meanS(simulated).toFixed(1)} s (${times})`)
  }
} finally {
  await slurm.down()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
