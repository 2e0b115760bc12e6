import { describe, expect, it } from 'vitest'
import { cases, longTests } from '../../../test/long-tests.js'
import { simulatePlan } from '../src/index.js'
import { planForTail } from './plan-for-tail.js'
import { publishedData, randomScenarios } from './published-data.js'

describe('a plan for the tail', () => {
  it.each([
    ['head', 1, 'shared'],
    ['sc24', 1, 'shared'],
    ['sc24', 4, 'shared'],
    ['sc24', 1, 'split'],
  ] as const)(
    'keeps every service of %s that it calls served, at burstiness %d, %s, and is near its bound',
    async (set, burstiness, dispatch) => {
      const data = publishedData(set)
      const last = data.scenarios.at(-1)!.filter((_, m) => longTests || m % 2 === 0)
      const rows = [last, ...randomScenarios(data, cases(1, 0), 77 + burstiness)]
      for (const [k, objectives] of rows.entries()) {
        const plan = await planForTail(data.profiles, objectives, { burstiness, dispatch })
        expect(plan.served.length).toBeGreaterThan(cases(4, 2))
        // Under requests as stated, and under calmer ones.
        for (const met of new Set([1, burstiness])) {
          const options = { burstiness: met, dispatch, seed: k + 1, requests: 30_000 }
          for (const { model, late, requests } of simulatePlan(plan, data.profiles, options)) {
            expect(late / requests, `row ${k}, ${model}, burstiness ${met}`).toBeLessThanOrEqual(0.01)
          }
        }
        const { gpuCount, lowerBoundGpus } = plan
        if (dispatch === 'shared' && burstiness === 1) {
          expect(gpuCount - lowerBoundGpus).toBeLessThanOrEqual(Math.max(1, 0.01 * lowerBoundGpus))
        }
      }
    },
  )
})
