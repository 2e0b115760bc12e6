import { SeededRandom } from '@pctodl/numerics'
import { describe, expect, it } from 'vitest'
import { type Job, simulate } from '../src/index.js'

const ROUND_S = 300
const profile = {
  ...{ model: 'm', modelClass: null, cpusPerGpu: [4], memoryGbPerGpu: [10], throughput: [[1]], iterationS: 1 },
  ...{ demand: { cpus: 4, memoryGb: 10 }, speedupAtDemand: 1, spreadPenalty: 1 },
}
const EVEN = 1e-9

/** Written from the description of the policies alone, for one server on which all jobs run at one pace. */
function miniSimulate(jobs: readonly Job[], gpus: number, policy: 'fifo' | 'srtf' | 'ftf'): number[] {
  const left = jobs.map(({ iterations }) => iterations)
  const finishS = jobs.map(() => 0)
  let [running, waiting] = [new Set<number>(), [] as number[]]
  let [nowS, arrived] = [0, 0]
  let roundS = Number.POSITIVE_INFINITY
  const keyOf = (j: number) => {
    if (policy === 'fifo') return jobs[j]!.arrivalS
    if (policy === 'srtf') return left[j]!
    return -(nowS - jobs[j]!.arrivalS + left[j]!) / jobs[j]!.iterations
  }
  const isBefore = (a: number, b: number) => {
    const [one, other] = [keyOf(a), keyOf(b)]
    return Math.abs(one - other) <= EVEN * Math.max(Math.abs(one), Math.abs(other)) ? a - b : one - other
  }
  const choose = (order: readonly number[], free: number) =>
    order.filter((j) => {
      if (jobs[j]!.gpus > free) return false
      free -= jobs[j]!.gpus
      return true
    })
  while (finishS.some((time) => time === 0)) {
    const ends = [...running].map((j) => nowS + left[j]!)
    const nextS = Math.min(...ends, jobs[arrived]?.arrivalS ?? Number.POSITIVE_INFINITY, roundS)
    for (const j of running) left[j]! -= nextS - nowS
    nowS = nextS
    for (const j of running) {
      if (left[j]! > 1e-6) continue
      running.delete(j)
      finishS[j] = nowS
    }
    while (arrived < jobs.length && jobs[arrived]!.arrivalS <= nowS) waiting.push(arrived++)
    if (nowS >= roundS) {
      const order = [...running, ...waiting].sort((a, b) => a - b).sort(isBefore)
      running = new Set(choose(order, gpus))
      waiting = order.filter((j) => !running.has(j))
    } else {
      const used = [...running].reduce((sum, j) => sum + jobs[j]!.gpus, 0)
      const started = choose(waiting, gpus - used)
      for (const j of started) running.add(j)
      waiting = waiting.filter((j) => !running.has(j))
    }
    if (waiting.length === 0) roundS = Number.POSITIVE_INFINITY
    else if (roundS <= nowS || roundS === Number.POSITIVE_INFINITY) roundS = (Math.floor(nowS / ROUND_S) + 1) * ROUND_S
  }
  return finishS
}

describe('an independent simulator', () => {
  it.each(['fifo', 'srtf', 'ftf'] as const)('ends every job of 40 traces at the same second under %s', (policy) => {
    const differing: number[] = []
    for (let seed = 0; seed < 40; seed++) {
      const random = new SeededRandom(7000 + seed)
      let arrivalS = 0
      const jobs = Array.from({ length: 25 }, (_, id): Job => {
        arrivalS += -500 * Math.log(1 - random.uniform())
        return {
          id,
          model: 'm',
          arrivalS,
          iterations: 100 + 4000 * random.uniform(),
          gpus: [1, 1, 2, 4][Math.floor(4 * random.uniform())]!,
        }
      })
      const server = { count: 1, gpus: 4, cpus: 16, memoryGb: 40, storageMBps: 500 }
      const result = simulate({
        cluster: { servers: [server] },
        profiles: [profile],
        jobs,
        policy,
        mechanism: 'fair',
        roundS: ROUND_S,
      })
      const expected = miniSimulate(jobs, 4, policy)
      if (result.jobs.some(({ finishS }, i) => Math.abs(finishS - expected[i]!) > 1e-3)) differing.push(seed)
    }
    expect(differing).toEqual([])
  })
})
