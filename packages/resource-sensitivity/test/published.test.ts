import { type PublishedRound, simulatePublished } from '@pctodl/published/scheduling'
import { describe, expect, it } from 'vitest'
import type { MechanismName, PolicyName } from '../src/engine/scheduling-options.js'
import { type Cluster, parseReplayCsv } from '../src/index.js'
import { parseSynergyTables } from '../src/job-profile.js'
import { published, publishedJson } from './published-files.js'

const servers = (count: number): Cluster => ({
  servers: [{ count, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 }],
})

interface Expected {
  readonly case: string
  readonly policy: string
  readonly mechanism: string
  readonly static: boolean
  readonly jct_mean_s: number
  readonly rounds_scheduled: number
  readonly mean_alloc_fraction: { readonly gpu: number; readonly cpu: number; readonly mem: number }
}

describe('the published algorithms against the published simulator', () => {
  const profiles = parseSynergyTables(published('model_profiles.json'), 3)
  const expected: Expected[] = publishedJson('golden/summary.json')

  it('has all thirty runs to compare with', () => {
    expect(expected.length).toBe(30)
  })

  it.each(expected)('$case $policy $mechanism: every job, the rounds and what was allocated', (entry) => {
    const name = `${entry.case}.${entry.policy.toLowerCase()}.${entry.mechanism}.csv`
    const result = simulatePublished({
      cluster: servers(4),
      jobs: parseReplayCsv(published(`traces/${entry.case}.csv`)),
      profiles,
      policy: entry.policy.toLowerCase() as PolicyName,
      mechanism: entry.mechanism as Exclude<MechanismName, 'optimal'>,
      static: entry.static,
    })
    const golden = published(`golden/${name}`)
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','))
    const actual = result.finished.map(({ job, finishS, completionS, attainedS }) => [
      job.id,
      finishS,
      completionS,
      attainedS,
    ])
    expect(actual).toEqual(golden.map((cells) => [cells[0], cells[5], cells[6], cells[7]].map(Number)))
    expect(result.rounds).toBe(entry.rounds_scheduled)
    expect(result.meanAllocatedShare.gpu).toBeCloseTo(entry.mean_alloc_fraction.gpu, 12)
    expect(result.meanAllocatedShare.cpu).toBeCloseTo(entry.mean_alloc_fraction.cpu, 12)
    expect(result.meanAllocatedShare.memory).toBeCloseTo(entry.mean_alloc_fraction.mem, 12)
  })

  it('orders, places, speeds up and advances tiny10 alike, round by round', () => {
    const rounds = publishedJson('golden/tiny10.rounds.json').results
    expect(Object.keys(rounds).length).toBe(6)
    for (const [name, golden] of Object.entries<{ first_rounds: unknown[] }>(rounds)) {
      const [policy, mechanism] = name.toLowerCase().split('+') as [PolicyName, Exclude<MechanismName, 'optimal'>]
      const seen: unknown[] = []
      simulatePublished({
        cluster: servers(2),
        jobs: parseReplayCsv(published('traces/tiny10.csv')),
        profiles,
        policy,
        mechanism,
        onRound: (round) => seen.push(snapshot(round)),
      })
      expect(seen.slice(0, golden.first_rounds.length), name).toEqual(golden.first_rounds)
    }
  })
})

function snapshot({ timeS, order, running }: PublishedRound) {
  return {
    time: timeS,
    order: order.map(({ job }) => job.id),
    running: running.map(({ job, executed, speedup, servers: on, gpusOn, held }) => ({
      id: job.id,
      executed_after_round: executed,
      speedup,
      placement: Object.fromEntries(
        on.map((server, i) => {
          const part = gpusOn[i]! / job.gpus
          const [, cpu, mem, sspeed] = held
          return [server, { gpu: gpusOn[i], cpu: cpu * part, mem: mem * part, sspeed: sspeed * part }]
        }),
      ),
    })),
  }
}

describe('the published algorithms', () => {
  const profile = {
    model: 'm',
    modelClass: null,
    cpusPerGpu: [3],
    memoryGbPerGpu: [10],
    throughput: [[1]],
    iterationS: 1,
    demand: { cpus: 3, memoryGb: 10 },
    speedupAtDemand: 1,
    spreadPenalty: 1,
  }
  const job = (id: number, arrivalS: number, iterations: number, gpus = 1) => ({
    id,
    model: 'm',
    arrivalS,
    iterations,
    gpus,
  })
  const base = { cluster: servers(1), profiles: [profile], policy: 'fifo', mechanism: 'fair' } as const

  it('drops what arrives after an idle round, and runs it when told to', () => {
    const jobs = [job(0, 8, 100), job(1, 100, 100), job(2, 50_000, 100)]
    expect(simulatePublished({ ...base, jobs }).finished.map(({ job: { id } }) => id)).toEqual([0, 1])
    const all = simulatePublished({ ...base, jobs, corrections: { runAllJobs: true } })
    expect(all.finished.map(({ finishS }) => finishS)).toEqual([600, 600, 50_400 + 0])
  })

  it('refuses what the published simulator takes silently or cannot run', () => {
    expect(() => simulatePublished({ ...base, jobs: [{ ...job(0, 0, 1), model: 'x' }] })).toThrow(/unknown model 'x'/)
    expect(() => simulatePublished({ ...base, jobs: [job(0, 0, 1, 9)] })).toThrow(
      /job 0 can never run: it needs 9 GPUs/,
    )
    expect(() => simulatePublished({ ...base, jobs: [job(0, 0, 1)], roundS: 0 })).toThrow(/roundS/)
    const two = { servers: [...servers(1).servers, ...servers(1).servers] }
    expect(() => simulatePublished({ ...base, cluster: two, jobs: [job(0, 0, 1)] })).toThrow(/one kind of server/)
  })
})
