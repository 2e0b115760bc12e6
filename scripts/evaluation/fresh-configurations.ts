import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, smClocksAt, type Tenant } from '@pctodl/platform'

/**
 * Draws random configurations that are not in the design of the fits: other numbers of tenants, shares and batches, and
 * every clock.
 *
 * @param purpose seed text; each purpose gives other configurations
 */
export function freshConfigurations(model: PerfModel, count: number, purpose = 'fresh'): Configuration[] {
  const random = new SeededRandom(seedFrom(purpose, model.spec.key))
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  return Array.from({ length: count }, () => {
    const memClockMhz = pick(model.memClocksMhz)
    const states = smClocksAt(model.spec, memClockMhz)!
    const smClockMhz = random.uniform() < 0.15 ? states[random.integer(Math.ceil(states.length / 8))]! : pick(states)
    const size = random.uniform() < 0.25 ? 9 + random.integer(12) : 1 + random.integer(8)
    const networks = random.uniform() < 0.6 ? [pick(model.networks)] : model.networks
    const batches = random.uniform() < 0.15 ? [1, 2] : [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256]
    const total = random.uniform() < 0.1 ? Math.min(100, 3 * size) : 50 + 50 * random.uniform()
    const like = random.uniform() < 0.25
    const parts = Array.from({ length: size }, () => (like ? 1 : 0.1 + random.uniform()))
    const sum = parts.reduce((all, part) => all + part, 0)
    const first = { model: pick(networks), batchSize: pick(batches) }
    const tenants = parts.map((part): Tenant => {
      const mpsPercent = Math.max(1, Math.floor((total * part) / sum))
      return { mpsPercent, ...(like ? first : { model: pick(networks), batchSize: pick(batches) }) }
    })
    let used = 0
    const kept = tenants.filter(({ mpsPercent }) => {
      used += mpsPercent
      return used <= 100
    })
    return { tenants: kept, smClockMhz, memClockMhz }
  })
}
