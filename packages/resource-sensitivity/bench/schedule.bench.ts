import { simulatePublished } from '@pctodl/published/scheduling'
import { exampleProfiles } from '@pctodl/resource-sensitivity/job-profile'
import { Bench } from 'tinybench'
import type { MechanismName, PolicyName } from '../src/engine/scheduling-options.js'
import { generateTrace, simulate } from '../src/index.js'

/** Jobs a second of the published simulator on 128 GPUs, measured on a machine like this one. */
const PUBLISHED_JOBS_PER_SECOND = 4

const server = { gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }
const small = { servers: [{ ...server, count: 16 }] }
// 1.6 times what the cluster can do: a queue builds up, and every round has to choose.
const jobs = generateTrace({ jobs: 1000, jobsPerHour: 9, profiles: exampleProfiles, seed: 1 })

const bench = new Bench({ time: 1000, warmupTime: 200, iterations: 3, warmupIterations: 1 })
const cases = (['fifo', 'srtf', 'las'] as const).flatMap((policy: PolicyName) =>
  (['fair', 'greedy', 'tune'] as const).map((mechanism) => [policy, mechanism] as const),
)
for (const [policy, mechanism] of cases) {
  bench.add(`${policy} ${mechanism}`, () => {
    simulate({ cluster: small, jobs, profiles: exampleProfiles, policy, mechanism })
  })
}
for (const mechanism of ['fair', 'greedy', 'tune'] as const) {
  bench.add(`published: las ${mechanism}`, () => {
    simulatePublished({ cluster: small, jobs, profiles: exampleProfiles, policy: 'las', mechanism })
  })
}
await bench.run()
console.log('128 GPUs, 1,000 jobs')
console.table(
  bench.tasks.map(({ name, result }) => {
    if (result.state !== 'completed') throw new Error(`${name}: ${result.state}`)
    const perSecond = (1000 * jobs.length) / result.latency.p50
    return {
      schedule: name,
      'median ms': result.latency.p50.toFixed(0),
      'jobs/s': perSecond.toFixed(0),
      'times published': (perSecond / PUBLISHED_JOBS_PER_SECOND).toFixed(0),
    }
  }),
)

const large = { servers: [{ ...server, count: 1250 }] }
const crowd = generateTrace({ jobs: 100_000, jobsPerHour: 500, profiles: exampleProfiles, seed: 1 })
console.log('10,000 GPUs, 100,000 jobs at 1.6 times what the cluster can do')
console.table(
  (
    [
      ['las', 'fair'],
      ['las', 'tune'],
      ['srtf', 'tune'],
      ['ftf', 'tune'],
      ['las', 'greedy'],
    ] as [PolicyName, MechanismName][]
  ).map(([policy, mechanism]) => {
    const began = performance.now()
    const { events, rounds } = simulate({ cluster: large, jobs: crowd, profiles: exampleProfiles, policy, mechanism })
    return {
      schedule: `${policy} ${mechanism}`,
      seconds: ((performance.now() - began) / 1000).toFixed(1),
      events,
      rounds,
      'peak memory so far, GB': (process.resourceUsage().maxRSS / 2 ** 20).toFixed(2),
    }
  }),
)
