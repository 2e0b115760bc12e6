import type { PowerCapPolicy } from '@pctodl/scheduler'

/** Wraps a policy so that the wall time of each of its steps is recorded, µs. */
export function timed(policy: PowerCapPolicy, stepUs: number[]): PowerCapPolicy {
  const inner = policy.onSample.bind(policy)
  policy.onSample = (sample) => {
    const begin = performance.now()
    const action = inner(sample)
    stepUs.push((performance.now() - begin) * 1000)
    return action
  }
  return policy
}
