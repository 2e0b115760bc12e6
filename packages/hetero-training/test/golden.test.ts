import path from 'node:path'
import { goldenJson, referenceFolder } from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'
import { findPlan, type GpuProfile, readProfile, simplePlans } from '../src/index.js'

describe('golden figures of the published code', () => {
  const folder = referenceFolder('zeus2')
  const golden = goldenJson('zeus2/golden.json')
  const profile = (name: string): GpuProfile => readProfile(path.join(folder, `${name}.json`), { name })

  it('finds the optimum of the synchronous model in every case', () => {
    for (const { globalBatch, eta, idlePowerW, profiledRangeOnly, optimum, ...others } of golden.corrected.cases) {
      const job = {
        gpus: ['cifar_a10', 'cifar_t4'].map((name) => ({ profile: { ...profile(name), idlePowerW } })),
        globalBatch,
        eta,
        profiledRangeOnly,
        curves: 'measured' as const,
        mayLeaveOut: false,
      }
      const plan = findPlan(job)
      const close = (found: number, wanted: number) => expect(Math.abs(found / wanted - 1)).toBeLessThan(1e-9)
      close(plan.cost, optimum.cost)
      close(plan.timeS, optimum.time)
      close(plan.energyJ, optimum.energy)
      expect(plan.gpus.map(({ share }) => share)).toEqual([optimum.b1, optimum.b2])
      const simple = simplePlans(job)
      close(simple.get('even split, best limits')!.cost, others.evenSplitBestLimits.cost)
      close(simple.get('even split, largest limits')!.cost, others.evenSplitMaxLimits.cost)
    }
  })
})
