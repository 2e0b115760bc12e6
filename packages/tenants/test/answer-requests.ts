import { type Service, unaccountedRequests } from '@pctodl/platform'
import { InferencePool, type InferencePoolOptions, RequestDesk } from '@pctodl/tenants'
import { expect } from 'vitest'
import { eventually } from './eventually.js'

/** What any worker has to do with requests: answer all of them, also where one of two instances is killed amid a batch. */
export async function expectToAnswer(
  options: Pick<InferencePoolOptions, 'worker' | 'images' | 'environment'>,
  model: string,
): Promise<void> {
  const service: Service = {
    name: 'photos',
    model,
    objective: { p99Ms: 1 },
    weight: 1,
    maxBatchSize: 4,
    maxQueueDelayMs: 0,
  }
  const desk = new RequestDesk()
  desk.serve([service])
  const pool = new InferencePool({ ...options, desk })
  try {
    const tenant = { model, mpsPercent: 50, batchSize: 4, service: 'photos' }
    await pool.apply([tenant, tenant])
    expect(pool.counters().map(({ state, failure }) => [state, failure])).toEqual([
      ['running', undefined],
      ['running', undefined],
    ])
    const asked = Array.from({ length: 40 }, () => desk.ask('photos'))
    await eventually(() => desk.counters()[0]!.completed > 4, 'the first batches are answered')
    process.kill(pool.pids()[0]!, 'SIGKILL')
    const answers = await Promise.all(asked)
    expect(answers.map(({ outcome }) => outcome)).toEqual(asked.map(() => 'completed'))
    const [counters] = desk.counters()
    // Late, every one of them: nobody infers in a millisecond.
    expect(counters).toMatchObject({ arrived: 40, completed: 40, late: 40, failed: 0, queued: 0, running: 0 })
    expect(unaccountedRequests(counters!)).toBe(0)
    await pool.stop()
    const samples = pool.ended().reduce((sum, ended) => sum + ended.counters.samples, 0)
    // One that is killed between a batch and its report has answered more than it could say.
    expect(samples).toBeGreaterThanOrEqual(36)
    expect(samples).toBeLessThanOrEqual(44)
  } finally {
    desk.close()
    await pool.stop()
  }
}
