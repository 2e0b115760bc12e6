import { SeededRandom } from '@pctodl/numerics'
import type { Arrivals, Configuration, Service, Tenant } from '@pctodl/platform'
import type { ServedProcess } from '../src/serving/batch-slot.js'
import type { MixSolver } from '../src/serving/running-mixes.js'
import { idleState, type SteadyState } from '../src/steady-state.js'

/** Independent users, as a test needs them. */
export function poisson(ratePerS: number, seed: number): Arrivals {
  const random = new SeededRandom(seed)
  let timeMs = 0
  return {
    nextMs() {
      timeMs -= (1000 / ratePerS) * Math.log(1 - random.uniform())
      return timeMs
    },
  }
}

/** The very times. */
export function times(timesMs: readonly number[]): Arrivals {
  let next = 0
  return { nextMs: () => timesMs[next++] ?? Number.POSITIVE_INFINITY }
}

/** A board on which a batch takes what a law says, of its tenant and of all that run. */
export function lawful(batchMs: (tenant: Tenant, mix: Configuration) => number): MixSolver {
  return {
    solve(mix): SteadyState {
      const tenants = mix.tenants.map((tenant) => {
        const ms = batchMs(tenant, mix)
        return { throughput: (1000 * tenant.batchSize) / ms, batchMs: ms, deviceShare: 1 }
      })
      return { ...idleState, tenants, busySms: mix.tenants.length, flopPerS: 10 * mix.tenants.length }
    },
  }
}

export function service(change: Partial<Service> = {}): Service {
  return {
    name: 'search',
    model: 'resnet50',
    objective: { p99Ms: 50 },
    weight: 1,
    maxBatchSize: 1,
    maxQueueDelayMs: 0,
    ...change,
  }
}

/** A process as serving sees it. */
export class TestProcess implements ServedProcess {
  tenant: Tenant
  hung = false
  wantsBatchSize = false
  samples = 0
  batches = 0
  latencySumMs = 0
  lastCompletionMs = 0
  lastBatchSize = 0

  constructor(tenant: Partial<Tenant> = {}) {
    this.tenant = { model: 'resnet50', mpsPercent: 100, batchSize: 1, service: 'search', ...tenant }
  }
}
