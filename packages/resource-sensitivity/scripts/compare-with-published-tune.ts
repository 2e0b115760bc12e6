/**
 * Compares the mean completion time under `tune` with that under the published tune, on drawn traces, each under one of the policies and at
 * spread penalties of 1, 1.3 and 2. The published tune runs as published, where a job on several servers is no slower, and with the same
 * penalty. Both serve ftf in the same order: the Python code serves the least delayed job first, which ends small jobs sooner. Then counts
 * the rounds in which the published allocation of the same jobs has the higher throughput.
 *
 *   tsx --conditions=@pctodl/source scripts/compare-with-published-tune.ts [traces] [first seed]
 */

import { simulatePublished } from '@pctodl/published/scheduling'
import { policyNames } from '../src/engine/scheduling-options.js'
import { generateTrace, planNow, simulate, summarize } from '../src/index.js'
import { exampleProfiles as profiles, throughputAt } from '../src/job-profile.js'

const [count = 60, firstSeed = 1001] = process.argv.slice(2).map(Number)
const cluster = { servers: [{ count: 4, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }] }
const rates = [2, 4, 8, Number.POSITIVE_INFINITY]
const free = new Map<string, number[]>()
const same = new Map<string, number[]>()
const modelOf = new Map(profiles.map((profile) => [profile.model, profile]))
/** Throughput of every twentieth round over that of the published allocation of the same jobs. */
const rounds: number[] = []
let round = 0
for (let seed = firstSeed; seed < firstSeed + count; seed++) {
  const jobs = generateTrace({ jobs: 60, jobsPerHour: rates[seed % 4]!, profiles, seed })
  const policy = policyNames[seed % policyNames.length]!
  const rules = { cluster, jobs, profiles, policy, mechanism: 'tune' } as const
  simulatePublished({
    ...rules,
    corrections: { runAllJobs: true },
    onRound: ({ running }) => {
      if (round++ % 20 > 0) return
      const speeds = running.map(({ job: { model, gpus }, held: [, cpus, memoryGb] }) =>
        throughputAt(modelOf.get(model)!, cpus / gpus, memoryGb / gpus),
      )
      const plan = planNow({ ...rules, jobs: running.map(({ job }) => job) })
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
      rounds.push(sum(plan.running.map(({ throughput }) => throughput)) / sum(speeds))
    },
  })
  const publishedS = (spreadPenalty?: number) => {
    const corrections = {
      runAllJobs: true,
      ftfLargestFirst: true,
      ...(spreadPenalty !== undefined && { spreadPenalty }),
    }
    const { finished } = simulatePublished({ ...rules, corrections })
    return finished.reduce((sum, { completionS }) => sum + completionS, 0) / finished.length
  }
  for (const spreadPenalty of [1, 1.3, 2]) {
    const { meanCompletionS } = summarize(simulate({ ...rules, spreadPenalty }))
    for (const [ratios, baseS] of [
      [free, publishedS()],
      [same, publishedS(spreadPenalty)],
    ] as const) {
      for (const name of [policy, 'all']) ratios.set(name, [...(ratios.get(name) ?? []), meanCompletionS / baseS])
    }
  }
}
for (const [title, ratios] of [
  ['the published tune, for which being on several servers costs nothing', free],
  ['the published tune where it costs the same', same],
] as const) {
  console.log(`mean completion over that of ${title}`)
  console.table(
    [...policyNames, 'all'].map((policy) => {
      const of = ratios.get(policy) ?? []
      const slower = of.filter((ratio) => ratio > 1).length
      const mean = of.reduce((sum, ratio) => sum + ratio, 0) / of.length
      return { policy, cases: of.length, slower, mean: mean.toFixed(4), worst: Math.max(...of).toFixed(4) }
    }),
  )
}
const lower = rounds.filter((ratio) => ratio < 1 - 1e-9).length
console.log(`rounds with a lower throughput: ${lower} of ${rounds.length}, worst ${Math.min(...rounds).toFixed(4)}`)
