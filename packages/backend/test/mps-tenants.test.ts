import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Tenant, VirtualClock } from '@pctodl/platform'
import { expect, it } from 'vitest'
import { MpsTenants } from '../src/mps-tenants.js'

it('tenants that were stopped come back with the next ones, in the pool that there is', async () => {
  const clock = new VirtualClock()
  const pool = new SimulatedTenants(new SimulatedGpu('A100', { clock }))
  let pools = 0
  const tenants = new MpsTenants({
    openMps: null,
    makePool: async () => {
      pools++
      return pool
    },
  })
  const one: readonly Tenant[] = [{ model: 'resnet50', mpsPercent: 40, batchSize: 8 }]
  await tenants.stop()
  await tenants.apply(one)
  await tenants.stop()
  expect(tenants.counters()).toEqual([])
  await tenants.apply(one)
  await clock.sleep(1000)
  expect(tenants.counters()).toMatchObject([{ state: 'running', tenant: one[0] }])
  expect(pools).toBe(1)
  await tenants.close()
  expect(tenants.counters()).toEqual([])
})
