import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { type MechanismName, policyNames } from '../src/engine/scheduling-options.js'
import { generateTrace, simulate } from '../src/index.js'
import { exampleProfiles } from '../src/job-profile.js'

/** `PCTODL_WRITE_GOLDEN=1` writes it anew: say in the commit why results move. */
const file = new URL('golden/simulations.json', import.meta.url)

const server = { gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }
const clusters = {
  even: { servers: [{ ...server, count: 4 }] },
  mixed: {
    servers: [
      { ...server, count: 2 },
      { count: 2, gpus: 4, cpus: 32, memoryGb: 200, storageMBps: 500 },
      { count: 1, gpus: 2, cpus: 8, memoryGb: 800, storageMBps: 500 },
    ],
  },
}

/** Of every simulation: its mean completion time and a digest of all plans and of the result, to the last bit. */
function simulations(): Record<string, string> {
  const digests: Record<string, string> = {}
  let seed = 0
  for (const [name, cluster] of Object.entries(clusters)) {
    for (const policy of policyNames) {
      for (const mechanism of ['fair', 'greedy', 'tune'] satisfies MechanismName[]) {
        for (const [spreadPenalty, restartCostS] of [
          [1, 0],
          [1.3, 30],
        ] as const) {
          seed++
          const jobs = generateTrace({
            jobs: 60,
            jobsPerHour: [3, 8, Number.POSITIVE_INFINITY][seed % 3]!,
            profiles: exampleProfiles,
            seed,
            ...(seed % 2 === 0 ? { durations: 'short' } : {}),
          })
          const digest = createHash('sha256')
          const result = simulate({
            ...{ cluster, jobs, profiles: exampleProfiles, policy, mechanism, spreadPenalty, restartCostS },
            onPlan: (plan) => digest.update(JSON.stringify(plan)),
          })
          digest.update(JSON.stringify(result))
          const meanS = result.jobs.reduce((sum, { completionS }) => sum + completionS, 0) / jobs.length
          digests[`${name} ${policy} ${mechanism} ${spreadPenalty}`] =
            `${meanS.toFixed(1)} s ${digest.digest('hex').slice(0, 12)}`
        }
      }
    }
  }
  return digests
}

it('every simulation is what it was, to the last bit', () => {
  const now = simulations()
  if (process.env['PCTODL_WRITE_GOLDEN'] === '1') writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  expect(now).toEqual(JSON.parse(readFileSync(file, 'utf8')))
})
