import { SeededRandom } from '@pctodl/numerics'
import { loadPerfModel } from '@pctodl/perf-model'
import { type CapSchedule, capSchedule, fixedCap, smClocksAt } from '@pctodl/platform'
import { type PowerCapPolicy, type RunEvent, type ServicesPlanner, ServicesPolicy } from '@pctodl/scheduler'
import { during, poissonArrivals, superposed } from '@pctodl/traffic'
import { describe, expect, it } from 'vitest'
import { cases, someOf } from '../../../test/long-tests.js'
import { createServerPolicy, runServerLoad, type ServerLoad, serverTasksOf, type TaskService } from '../src/server.js'

type Board = '3080Ti' | 'A100'

/** Runs a policy, by default the benchmark's, and checks at every sample that nothing is shed while cap and clock leave room. */
async function serve(board: Board, load: Omit<ServerLoad, 'boardName'>, own?: PowerCapPolicy) {
  const model = loadPerfModel(board)
  const policy = own ?? createServerPolicy('pctodl', load, { model, loadFactor: load.loadFactor ?? 1 })
  const admitted: Record<string, number> = {}
  const energies: { timeMs: number; energyJ: number }[] = []
  const needless: number[] = []
  const onEvent = (event: RunEvent) => {
    if (event.type === 'action') Object.assign(admitted, event.action.admitted)
    if (event.type !== 'sample') return
    const { timeMs, telemetry, powerCapW, inForce } = event
    energies.push({ timeMs, energyJ: telemetry.energyJ! })
    // The policy has answered the sample before this one.
    const secondsW = [1, 2].map((ago) => {
      const to = energies.at(-ago) ?? energies[0]!
      const from = energies.at(-10 - ago) ?? energies[0]!
      return (1000 * (to.energyJ - from.energyJ)) / Math.max(1, to.timeMs - from.timeMs)
    })
    const top = smClocksAt(model.spec, inForce.memClockMhz!)!.at(-1)!
    const shedding = Object.values(admitted).some((share) => share < 1)
    if (shedding && Math.max(...secondsW) < 0.9 * powerCapW && inForce.smClockMhz! < top) needless.push(timeMs)
  }
  const run = await runServerLoad({ ...load, boardName: board }, policy, { onEvent })
  const shed = run.services.reduce((sum, service) => sum + service.shed + service.failed, 0)
  const arrived = run.services.reduce((sum, { completed, shed: some, failed }) => sum + completed + some + failed, 0)
  return { ...run, needless, shedShare: shed / arrived }
}

describe('services whose load changes', () => {
  it.each(someOf(['steps from one service to the other', 'comes in bursts at three times the rate'] as const))(
    'are served where governors serve them: %s',
    async (name) => {
      const [id, seed] = name.startsWith('steps') ? [508, 1] : [511, 11]
      const [task] = serverTasksOf('3080Ti', [id])
      const { services, needless, shedShare, capHolds } = await serve('3080Ti', { ...task!, loadFactor: 3, seed })
      expect(needless).toEqual([])
      expect(shedShare).toBeLessThan(0.002)
      expect(capHolds).toBe(true)
      for (const { attainment } of services) expect(attainment).toBeGreaterThan(0.99)
    },
  )

  it('are served where the cap falls below the lowest limit of the board in a burst', async () => {
    const [task] = serverTasksOf('A100', [510])
    const caps = capSchedule([
      { atMs: 0, powerCapW: 150 },
      { atMs: 22_000, powerCapW: 130 },
    ])
    const services = task!.services.map((service) => ({ ...service, traffic: burst }))
    const { needless, shedShare, recorded } = await serve('A100', { services, caps, durationS: 40, seed: 5 })
    expect(needless).toEqual([])
    expect(shedShare).toBeLessThan(0.002)
    const { timeMs, trueW } = recorded.power
    const late = trueW!.filter((_, i) => timeMs[i]! >= 24_000)
    const secondsW = late.slice(10).map((_, i) => late.slice(i, i + 10).reduce((sum, powerW) => sum + powerW, 0) / 10)
    expect(Math.max(...secondsW)).toBeLessThan(1.01 * 130)
  })
})

const burst = (ratePerS: number) =>
  superposed([
    poissonArrivals({ ratePerS }),
    during(poissonArrivals({ ratePerS: 0.5 * ratePerS }), { fromMs: 20_000, toMs: 26_000 }),
  ])

/** Some services with some load under a cap that may step. */
function drawn(board: Board, random: SeededRandom): Omit<ServerLoad, 'boardName'> {
  const tasks = serverTasksOf(board)
  const task = tasks[random.integer(tasks.length)]!
  const jumps = (ratePerS: number) => {
    const fromMs = 1000 * (6 + random.integer(6))
    const more = poissonArrivals({ ratePerS: 4 * random.uniform() * ratePerS + 1 })
    return superposed([
      poissonArrivals({ ratePerS }),
      during(more, { fromMs, toMs: fromMs + 200 + random.integer(5000) }),
    ])
  }
  const services: TaskService[] = task.services.map(({ service, meanPerS, traffic }) => ({
    service,
    meanPerS,
    traffic: random.uniform() < 0.5 ? jumps : traffic,
  }))
  const lowW = board === 'A100' ? 120 : 150
  const capW = () => lowW + Math.round(100 * random.uniform())
  const caps: CapSchedule =
    random.uniform() < 0.5
      ? fixedCap(capW())
      : capSchedule([
          { atMs: 0, powerCapW: capW() },
          { atMs: 1000 * (6 + random.integer(6)), powerCapW: capW() },
        ])
  return { services, caps, durationS: 15, loadFactor: 0.3 + 5 * random.uniform(), seed: random.integer(1e6) }
}

/** A tenant of one share for each service, without a search: scenarios are many. */
const equalShares: ServicesPlanner = ({ services }) => ({
  tenants: services.map(({ name, model, maxBatchSize }) => ({
    model,
    mpsPercent: Math.floor(100 / services.length),
    batchSize: maxBatchSize,
    service: name,
  })),
  memClockMhz: 0,
  smClockMhz: 0,
})

describe('requests', () => {
  it('are not shed while power is below .9 of the cap and the clock below its top, in random scenarios', async () => {
    const runs = cases(10_000, 12)
    let shed = 0
    for (let seed = 1; seed <= runs; seed++) {
      const random = new SeededRandom(seed)
      const board = random.uniform() < 0.5 ? '3080Ti' : 'A100'
      const load = drawn(board, random)
      const model = loadPerfModel(board)
      const perS = load.services.map(({ service, meanPerS }) => [service.name, meanPerS] as const)
      const policy = new ServicesPolicy({
        model,
        services: load.services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service),
        expectedPerS: Object.fromEntries(perS),
        plan: (mix, objective) => ({ ...equalShares(mix, objective)!, memClockMhz: Math.max(...model.memClocksMhz) }),
      })
      const { needless, shedShare } = await serve(board, load, policy)
      if (shedShare > 0) shed++
      expect({ seed, needless }).toEqual({ seed, needless: [] })
    }
    // The scenarios are such that requests are shed in some of them.
    expect(shed).toBeGreaterThan(runs / 4)
  })
})
