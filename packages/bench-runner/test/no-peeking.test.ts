import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Gpu, type GpuLease, type Tenant, type TenantPool, VirtualClock } from '@pctodl/platform'
import { type Action, type PowerCapPolicy, runPolicy } from '@pctodl/scheduler'
import { describe, expect, it } from 'vitest'
import { type AlgorithmName, algorithmNames, createPolicy } from '../src/algorithms.js'
import { tasksOf } from '../src/index.js'
import { capsOf, everyTask } from '../src/tasks.js'

/** A policy with what it asked for. */
function listening(policy: PowerCapPolicy) {
  const actions: (Action | undefined)[] = []
  const heard = (action: Action | undefined) => {
    actions.push(action)
    return action
  }
  const listened: PowerCapPolicy = {
    name: policy.name,
    start: (capW) => heard(policy.start(capW))!,
    onCapChange: (capW, applied) => heard(policy.onCapChange(capW, applied)),
    onSample: (sample) => heard(policy.onSample(sample)),
    onWindow: (window) => heard(policy.onWindow(window)),
    ...(policy.onIdle ? { onIdle: (timeMs, applied) => heard(policy.onIdle!(timeMs, applied)) } : {}),
  }
  return { listened, actions }
}

/**
 * A board whose truth differs from every reading: all that is asked of it happens to the true board, and everything that it shows
 * (readings, counters, what it is called) is of another one that is treated alike.
 */
class TwoFacedBoard implements Gpu {
  readonly spec: Gpu['spec']
  readonly pool: TenantPool
  readonly #shown: SimulatedGpu
  readonly #true: SimulatedGpu

  constructor(shown: SimulatedGpu, real: SimulatedGpu) {
    this.#shown = shown
    this.#true = real
    this.spec = shown.spec
    const [visible, hidden] = [new SimulatedTenants(shown), new SimulatedTenants(real)]
    this.pool = {
      apply: async (tenants: readonly Tenant[], options) => {
        await Promise.all([visible.apply(tenants, options), hidden.apply(tenants, options)])
      },
      counters: () => visible.counters(),
      stop: async () => {
        await Promise.all([visible.stop(), hidden.stop()])
      },
    }
  }

  truth() {
    return this.#true.truth()
  }

  info() {
    return this.#shown.info()
  }

  sample() {
    return this.#shown.sample()
  }

  async acquire(): Promise<GpuLease> {
    const [lease, hidden] = [await this.#shown.acquire(), await this.#true.acquire()]
    return new Proxy(lease, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          const other = Reflect.get(hidden, name) as (...args: unknown[]) => Promise<unknown>
          // A refusal of the true board is nothing that can be seen either.
          await other.apply(hidden, args).catch(() => {})
          return (value as (...args: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  }
}

async function actionsOn(name: AlgorithmName, trueBoard: string, taskId: number) {
  const [task] = tasksOf('A100', [taskId])
  const clock = new VirtualClock()
  const real = new SimulatedGpu(trueBoard, { clock, seed: 7 })
  const board = new TwoFacedBoard(new SimulatedGpu('A100', { clock, seed: 1 }), real)
  const variant = /~v(\d+)$/.exec(trueBoard)?.[1]
  const { listened, actions } = listening(
    createPolicy(name, task!, variant === undefined ? {} : { variant: Number(variant) }),
  )
  await runPolicy({
    gpu: board,
    pool: board.pool,
    clock,
    policy: listened,
    caps: capsOf(task!).filter(({ atMs }) => atMs < 30_000),
    iterations: 6,
    windowMs: 5000,
  })
  return { actions: JSON.stringify(actions), energyJ: real.truth().energyJ }
}

describe('no policy peeks', () => {
  it.each(algorithmNames.filter((name) => name !== 'static-best'))(
    '%s does the same whatever the truth behind its readings is',
    async (name) => {
      const [one, other] = [await actionsOn(name, 'A100', 24), await actionsOn(name, 'A100~v3', 24)]
      expect(other.energyJ).not.toBeCloseTo(one.energyJ, 0)
      expect(other.actions).toBe(one.actions)
    },
  )

  it('would be seen: static-best, which knows the truth, does not', async () => {
    const task = everyTask.find(({ board, id }) => board === 'A100' && id === 24)!
    const plans = [1, 3].map((variant) => createPolicy('static-best', task, { variant }).start(240))
    expect(JSON.stringify(plans[1])).not.toBe(JSON.stringify(plans[0]))
  })
})
