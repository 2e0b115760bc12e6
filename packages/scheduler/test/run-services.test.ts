import { SimulatedDesk, SimulatedGpu } from '@pctodl/gpu-sim'
import { type Service, type ServiceDesk, VirtualClock } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { RunServices, type ServiceListStep } from '../src/run-services.js'
import { search } from './two-services.js'

const photos: Service = { ...search, name: 'photos' }
const tags: Service = { ...search, name: 'tags' }

/** The services of a run on a simulated desk, and what the desk is told. */
function told(steps: readonly ServiceListStep[]) {
  const gpu = new SimulatedGpu('3080Ti', { clock: new VirtualClock() })
  const desk = new SimulatedDesk(gpu, () => ({ arrivals: { nextMs: () => 1e12 }, maxQueued: 10, shedAfterMs: 60 }))
  const calls: string[] = []
  const watched: ServiceDesk = {
    serve(services) {
      calls.push(`serve ${services.map(({ name }) => name).join(' ')}`)
      desk.serve(services)
    },
    admit(name, share) {
      calls.push(`admit ${name} ${share}`)
      desk.admit(name, share)
    },
    counters: () => desk.counters(),
  }
  const services = new RunServices({ desk: watched, steps })
  return { services, calls: () => calls.splice(0) }
}

const tenantsOf = (...services: readonly Service[]) =>
  services.map(({ name, model }) => ({ model, mpsPercent: 30, batchSize: 8, service: name }))

describe('the services of a run', () => {
  const steps = [
    { atMs: 0, services: [search, photos] },
    { atMs: 1000, services: [search] },
    { atMs: 2000, services: [search, tags] },
  ]

  it('change at their times, one step at a time', () => {
    const { services } = told(steps)
    expect([999, 1000, 1000, 1999, 5000, 5000].map((timeMs) => services.advance(timeMs))).toEqual([
      false,
      true,
      false,
      false,
      true,
      false,
    ])
    expect(services.present).toEqual([search, tags])
  })

  it('let nothing in once they leave, and end once no tenant serves them, and then for good', () => {
    const { services, calls } = told(steps)
    expect(calls()).toEqual(['serve search photos'])
    services.advance(1000)
    expect(calls()).toEqual(['serve search photos', 'admit photos 0'])
    services.admit({ search: 0.5, photos: 1 })
    expect(calls()).toEqual(['admit search 0.5'])
    services.dismiss(tenantsOf(search, photos), false)
    services.dismiss(tenantsOf(search), true)
    expect(calls()).toEqual([])
    services.dismiss(tenantsOf(search), false)
    services.dismiss(tenantsOf(search), false)
    expect(calls()).toEqual(['serve search'])
    services.advance(2000)
    expect(calls()).toEqual(['serve search tags'])
  })

  it('that leave one after the other end one after the other', () => {
    const { services, calls } = told([
      { atMs: 0, services: [search, photos, tags] },
      { atMs: 1000, services: [search, tags] },
      { atMs: 2000, services: [search] },
    ])
    services.advance(1000)
    services.advance(2000)
    expect(calls().slice(-3)).toEqual(['serve search tags photos', 'admit tags 0', 'admit photos 0'])
    services.dismiss(tenantsOf(search, tags), false)
    expect(calls()).toEqual(['serve search tags'])
  })

  it('are refused unless their times begin with 0 and rise', () => {
    for (const atMs of [[1], [0, 0], [0, 5, 4], []]) {
      expect(() => told(atMs.map((at) => ({ atMs: at, services: [search] })))).toThrow(/services\.steps/)
    }
    expect(() => told([0, 1].map((at) => ({ atMs: at, services: [search] })))).not.toThrow()
  })
})
