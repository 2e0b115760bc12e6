import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type EngineOptions, policyNames } from '../src/engine/scheduling-options.js'
import { generateTrace, ScheduleEngine, simulate } from '../src/index.js'
import { exampleProfiles } from '../src/job-profile.js'
import { executeSchedule } from '../src/node.js'
import { scenario } from './arbitrary-scenario.js'
import { attack, type Holding } from './hostile-world.js'
import { PlayedExecutor } from './played-executor.js'
import { drawJobs, profiles, cluster as unequal } from './unequal-gpus.js'

const seeds = fc.integer({ min: 0, max: 1e9 })

/** What the holdings take of each server, and its GPUs. */
function assertWithin(
  holdings: readonly Holding[],
  kinds: readonly { readonly gpus: number; readonly cpus: number; readonly memoryGb: number }[],
): void {
  kinds.forEach((kind, server) => {
    const taken = { gpus: 0, cpus: 0, memoryGb: 0 }
    for (const { seats, granted } of holdings) {
      for (const seat of seats) {
        if (seat.server !== server) continue
        taken.gpus += seat.gpus
        taken.cpus += seat.gpus * granted.cpusPerGpu
        taken.memoryGb += seat.gpus * granted.memoryGbPerGpu
      }
    }
    for (const of of ['gpus', 'cpus', 'memoryGb'] as const) {
      expect(taken[of], `${of} of server ${server}`).toBeLessThanOrEqual(kind[of] * (1 + 1e-6))
    }
  })
}

describe('a world in which anything happens at any time', () => {
  it('gets from the engine no GPU, core or memory twice, and every job ends', () => {
    const cluster = {
      servers: [
        { count: 2, gpus: 4, cpus: 16, memoryGb: 250, storageMBps: 500 },
        { count: 1, gpus: 8, cpus: 24, memoryGb: 500, storageMBps: 500 },
      ],
    }
    const kinds = [cluster.servers[0]!, cluster.servers[0]!, cluster.servers[1]!]
    const rules: fc.Arbitrary<Omit<EngineOptions, 'cluster' | 'profiles'>> = fc.record({
      policy: fc.constantFrom(...policyNames),
      mechanism: fc.constantFrom('fair' as const, 'greedy' as const, 'tune' as const),
      restartCostS: fc.constantFrom(0, 10),
      resizeCostS: fc.constantFrom(0, 10),
      spreadPenalty: fc.constantFrom(1, 1.3),
    })
    fc.assert(
      fc.property(seeds, fc.integer({ min: 2, max: 22 }), rules, (seed, count, chosen) => {
        const jobs = generateTrace({
          ...{ jobs: count, jobsPerHour: 60, profiles: exampleProfiles, seed },
        }).map((job) => ({ ...job, gpus: [1, 1, 1, 1, 1, 2, 2, 4, 6, 16][job.id % 10]! }))
        const engine = new ScheduleEngine({ cluster, profiles: exampleProfiles, roundS: 100, ...chosen })
        attack(engine, {
          ...{ seed, jobs, servers: kinds.map(({ gpus }) => gpus), waitsForLeaving: false, steps: 60 },
          // The actions of one plan belong together.
          check: (holdings, _, when) => when === 'plan' && assertWithin(holdings, kinds),
        })
      }),
      { numRuns: 40 },
    )
  })

  it('gets no watt above the budget but what those hold who are leaving, no GPU twice, and every job ends', () => {
    const kinds = unequal.servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
    const idleW = kinds.reduce((sum, { gpus, idlePowerW }) => sum + gpus * idlePowerW!, 0)
    const rules: fc.Arbitrary<Pick<EngineOptions, 'policy' | 'mechanism'> & Partial<EngineOptions>> = fc.record({
      policy: fc.constantFrom(...policyNames),
      mechanism: fc.constantFrom('tune' as const, 'tune' as const, 'fair' as const),
      limitsChange: fc.boolean(),
      budgetLeadS: fc.constantFrom(0, 40),
      spreadPenalty: fc.constantFrom(1, 1.3),
    })
    fc.assert(
      fc.property(seeds, fc.integer({ min: 2, max: 22 }), rules, (seed, count, chosen) => {
        const jobs = drawJobs(count, 60, seed)
        const models = new Map(jobs.map(({ id, model }) => [id, model]))
        const engine = new ScheduleEngine({
          ...{ cluster: unequal, profiles, powerBudgetW: 1500, roundS: 60, restartCostS: 10 },
          ...chosen,
        })
        const wattsOf = (holdings: readonly Holding[]) =>
          holdings.reduce((sum, { jobId, seats, granted: { powerLimitsW } }) => {
            const profile = profiles.find(({ model }) => model === models.get(jobId))!
            return seats.reduce((total, { server, gpus }, i) => {
              const { gpuType: type } = kinds[server]!
              const point = profile.gpus!.find(
                (each) => each.gpuType === type && each.powerLimitW === powerLimitsW![i],
              )!
              return total + gpus * point.dynamicPowerW
            }, sum)
          }, idleW)
        let beforeW = idleW
        attack(engine, {
          ...{ seed, jobs, servers: kinds.map(({ gpus }) => gpus), waitsForLeaving: true, steps: 60 },
          watts: [idleW, 2600],
          check: (holdings, _, when) => {
            const staying = holdings.filter(({ leaving }) => !leaving)
            const powerW = wattsOf(holdings)
            const budgetW = engine.power!.budgetW + 1e-6
            // A fall that nobody told in time: from then on it only falls.
            expect(powerW).toBeLessThanOrEqual(Math.max(budgetW, beforeW + 1e-6))
            beforeW = powerW
            if (when === 'action') return
            assertWithin(staying, kinds)
            expect(wattsOf(staying)).toBeLessThanOrEqual(budgetW)
            expect(engine.power!.powerW).toBeCloseTo(powerW, 6)
          },
        })
      }),
      { numRuns: 40 },
    )
  })
})

describe('a schedule that is executed where all goes as the profiles say', () => {
  it('is the one that is simulated, and says of each job that it ended or why it cannot run', async () => {
    await fc.assert(
      fc.asyncProperty(
        scenario,
        fc.constantFrom(...policyNames),
        fc.constantFrom('fair' as const, 'greedy' as const, 'tune' as const),
        async ({ cluster, profiles: given, jobs }, policy, mechanism) => {
          const options = { cluster, profiles: given, policy, mechanism, jobs, roundS: 200 }
          const simulated = simulate(options)
          // A job on several servers is slower there, which the actions do not say.
          fc.pre(simulated.spreadShare === 0)
          const executed = await executeSchedule(options, new PlayedExecutor(given, () => 0))
          expect(executed.map(({ job }) => job.id).sort((a, b) => a - b)).toEqual(jobs.map(({ id }) => id))
          for (const { job, finishS, outcome } of executed) {
            expect(outcome).toBe('finished')
            const there = simulated.jobs.find((each) => each.job.id === job.id)!
            expect(finishS).toBeCloseTo(there.finishS, 4)
          }
        },
      ),
      { numRuns: 40 },
    )
  })
})
