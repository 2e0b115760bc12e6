import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { modelOf } from '@pctodl/perf-model/node'
import { assertServices, smClocksAt } from '@pctodl/platform'
import { borne, createServerPolicy, equalShares, plannedShares, serverPolicyNames } from '@pctodl/run/policy'
import { afterAll, describe, expect, it } from 'vitest'
import { algorithmNames, parseAlgorithms } from '../src/algorithms.js'
import { benchRunner } from '../src/matrix-command.js'
import { runCell } from '../src/run-cell.js'
import { holds, maxLoad } from '../src/services/max-load.js'
import { listSteps, runServerLoad } from '../src/services/serve.js'
import { serverTasks, serverTasksOf } from '../src/services/service-tasks.js'

const model = modelOf('3080Ti', undefined)
const folder = mkdtempSync(path.join(tmpdir(), 'server-scenario-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function call(argv: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text
      return true
    },
  })
  const terminal = { stdout: stream('stdout'), stderr: stream('stderr'), env: {}, signal: new AbortController().signal }
  const code = await benchRunner(argv, terminal as unknown as Parameters<typeof benchRunner>[1])
  return { code, ...said }
}

describe('the tasks of the scenario', () => {
  it('are at least twenty, of two to six services, that any board can be asked for', () => {
    expect(serverTasks.length).toBeGreaterThanOrEqual(20)
    for (const { name, services, caps, durationS, board } of serverTasks) {
      expect(services.length).toBeGreaterThanOrEqual(2)
      expect(services.length).toBeLessThanOrEqual(6)
      assertServices(services.map(({ service }) => service))
      const lowestW = modelOf(board, undefined).spec.powerLimitW.min
      const below = caps.filter(({ powerCapW }) => powerCapW < lowestW)
      expect(below).toHaveLength(name === 'cap-falls-in-burst' ? 1 : 0)
      for (const { meanPerS, traffic } of services) {
        // A recorded shape and a task are of one length, so that what comes is what was said.
        const { meanRatePerS } = traffic(meanPerS)
        expect(meanRatePerS / meanPerS).toBeGreaterThan(0.9)
        expect(traffic(meanPerS).start(1).nextMs()).toBeLessThan(1000 * durationS)
      }
    }
    for (const board of ['3080Ti', 'A100']) {
      const ids = serverTasksOf(board).map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }
    expect(() => serverTasksOf('3080Ti', [1])).toThrow('501')
    expect(() => serverTasksOf('Abacus')).toThrow('3080Ti')
  })

  it('have services that come and go at their times', () => {
    const { services } = serverTasks.find(({ name }) => name === 'come-and-go')!
    const steps = listSteps(services).map(({ atMs, services }) => [atMs, services.map(({ name }) => name)])
    expect(steps).toEqual([
      [0, ['search', 'photos']],
      [40_000, ['search', 'photos', 'tags']],
      [80_000, ['search', 'tags']],
    ])
  })
})

describe('the plans of the opponents', () => {
  const { services, caps } = serverTasksOf('3080Ti', [503])[0]!
  const load = {
    services: services.map(({ service }) => service),
    ratesPerS: services.map(({ meanPerS }) => meanPerS),
    powerCapW: caps[0]!.powerCapW,
  }

  it('give each service its best batch at equal shares: no other batch bears more', () => {
    const plan = equalShares(model, load)
    expect(plan.tenants.map(({ mpsPercent }) => mpsPercent)).toEqual([50, 50])
    plan.tenants.forEach((tenant, i) => {
      for (const batchSize of [1, 2, 4, 8, 16, 32]) {
        const other = borne(model, plan.tenants.with(i, { ...tenant, batchSize }), load)
        expect(other.loadFactor).toBeLessThanOrEqual(1.02 * plan.loadFactor)
      }
    })
  })

  it('keep shares within the board, whatever is asked for', () => {
    for (const factor of [0.1, 1, 30]) {
      const scaled = { ...load, ratesPerS: load.ratesPerS.map((rate) => factor * rate) }
      for (const plan of [equalShares, plannedShares]) {
        const { tenants, memClockMhz, smClockMhz } = plan(model, scaled)
        expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)).toBeLessThanOrEqual(100 + 1e-9)
        expect(new Set(tenants.map(({ service }) => service)).size).toBe(2)
        expect(smClocksAt(model.spec, memClockMhz)).toContain(smClockMhz)
      }
    }
  })
})

describe('a run of the scenario', () => {
  const [task] = serverTasksOf('3080Ti', [501])
  const short = { ...task!, durationS: 20, boardName: '3080Ti', seed: 3 }

  const fixedClocks = { memClockMhz: 5001, smClockMhz: 1200 }

  it.each(serverPolicyNames.map((name) => [name]))('counts what became of every request: %s', async (name) => {
    const run = await runServerLoad(short, createServerPolicy(name, task!, { model, fixedClocks }))
    expect(run.services.map(({ service }) => service)).toEqual(['search', 'photos'])
    for (const { arrived, completed, shed, failed, open, goodputPerS } of run.services) {
      // What waited when the count began was decided after it.
      expect(Math.abs(arrived - completed - shed - failed - open)).toBeLessThan(200)
      expect(goodputPerS).toBeGreaterThan(0)
    }
    expect(run.recorded.perSecond.map(({ arrived }) => arrived.length)).toEqual([20, 20])
    expect(run.recorded.power.timeMs).toHaveLength(200)
    expect(run.capHolds).toBe(true)
    expect(run.meanPowerW).toBeLessThan(240)
  })

  it('is the same again, and the same requests come to every policy', async () => {
    const run = () => runServerLoad(short, createServerPolicy('pctodl', task!, { model }))
    const [one, again] = [await run(), await run()]
    expect(again).toEqual(one)
    const other = await runServerLoad(short, createServerPolicy('equal-shares', task!, { model }))
    const arrivals = ({ recorded }: typeof one) => recorded.perSecond.map(({ arrived }) => arrived)
    expect(arrivals(other)).toEqual(arrivals(one))
  })

  it('draws far less for the same requests with pctodl than at equal shares under the limit', async () => {
    const load = { ...short, durationS: 30 }
    const [pctodl, equal] = [
      await runServerLoad(load, createServerPolicy('pctodl', task!, { model })),
      await runServerLoad(load, createServerPolicy('equal-shares', task!, { model })),
    ]
    expect(pctodl.objectivesMet).toBe(true)
    expect(pctodl.energyPerRequestJ!).toBeLessThan(0.85 * equal.energyPerRequestJ!)
  })
})

describe('the most load', () => {
  it('is a load that holds, and a tenth more does not', async () => {
    const [task] = serverTasksOf('3080Ti', [503])
    const create = (loadFactor: number) => createServerPolicy('equal-shares', task!, { model, loadFactor })
    const most = await maxLoad(task!, create, { boardName: '3080Ti', seed: 1, from: 2, precision: 0.05 })
    expect(most!.loadFactor).toBeGreaterThan(1)
    expect(most!.run.objectivesMet).toBe(true)
    const from = 1.1 * most!.loadFactor
    const more = await maxLoad(task!, create, { boardName: '3080Ti', seed: 1, from, precision: 0.05 })
    expect(more!.loadFactor).toBeLessThan(from)
  })

  it('is of all services of a task at once, also of those that come later', async () => {
    const [task] = serverTasksOf('A100', [516])
    const how = { seed: 1, iterations: 24, powerMarginW: 0, shadow: false, maxLoad: true } as const
    const { record } = await runCell({ task: task!, algorithm: 'equal-shares', ...how })
    expect(record.requests!.maxLoad).toBeGreaterThan(1)
  })

  it('does not hold where the cap does not, nor with too few requests to be sure', () => {
    const service = { completed: 1000, late: 0, shed: 0, failed: 0 } as Parameters<typeof holds>[0]['services'][number]
    expect(holds({ services: [service], capHolds: true })).toBe(true)
    expect(holds({ services: [service], capHolds: false })).toBe(false)
    expect(holds({ services: [{ ...service, completed: 100 }], capHolds: true })).toBe(false)
    expect(holds({ services: [{ ...service, shed: 30 }], capHolds: true })).toBe(false)
  })
})

describe('the clock of fixed-clock', () => {
  it('keeps what equal shares keep and takes less energy, found with other arrivals', async () => {
    const [task] = serverTasksOf('3080Ti', [501])
    const how = { task: { ...task!, durationS: 20 }, seed: 1, iterations: 4, powerMarginW: 0, shadow: false } as const
    const [fixed, equal] = [
      (await runCell({ ...how, algorithm: 'fixed-clock' })).record,
      (await runCell({ ...how, algorithm: 'equal-shares' })).record,
    ]
    expect(fixed.requests!.services.every(({ attainment }) => attainment! > 0.98)).toBe(true)
    expect(fixed.requests!.energyPerRequestJ!).toBeLessThan(0.85 * equal.requests!.energyPerRequestJ!)
    expect(new Set(fixed.power.smClockMhz!.slice(100)).size).toBe(1)
  })
})

describe('bench-runner --set services', () => {
  const argv = ['--gpu', '3080Ti', '--task-id', '502', '--result-dir', folder]

  it('runs in the one runner: keeps what is whole, makes again what is not, reports and compares', async () => {
    const with2 = [...argv, '--algorithm', 'equal-shares,latency-governor', '--save-summary', '--chart', '--jobs', '1']
    const first = await call(with2)
    expect(first.code).toBe(0)
    expect(first.stdout).toMatch(/equal-shares .*holds/)
    expect(first.stdout).toContain('latency-governor')
    const csv = (name: string) => path.join(folder, `3080Ti_${name}`, '502_pair-at-night_requests_240W.csv')
    const written = readFileSync(csv('equal-shares'), 'utf8')
    expect(written.trim().split('\n')).toHaveLength(25)
    writeFileSync(csv('latency-governor'), 'half')
    const again = await call([...with2, '--resume', '--json'])
    expect(again.stderr.match(/kept/g)).toHaveLength(1)
    expect(readFileSync(csv('equal-shares'), 'utf8')).toBe(written)
    const { summaries, files } = JSON.parse(again.stdout)
    expect(summaries[0]).toMatchObject({ set: 'services', model: 'pair-at-night', instance: '3080Ti' })
    expect(summaries[0].requests.services).toHaveLength(2)
    expect(files.some((name: string) => name.endsWith('.png'))).toBe(true)
    expect((await call(['report', folder])).code).toBe(0)
    expect(readFileSync(path.join(folder, 'report', 'report.md'), 'utf8')).toContain('## 3080Ti-services')
    const compared = JSON.parse((await call(['compare', folder, folder, '--json'])).stdout)
    expect(compared.differences.map(({ run }: { run: string }) => run)).toEqual([
      '3080Ti_equal-shares/502_pair-at-night_requests_240W',
      '3080Ti_latency-governor/502_pair-at-night_requests_240W',
    ])
  })

  it('runs beside the tasks of the paper', async () => {
    const both = await call(['--set', 'paper,services', '--gpu', 'A100', '--dry-run', '--json'])
    const cells: { taskId: number; algorithm: string }[] = JSON.parse(both.stdout)
    const algorithmsOf = (id: number) => cells.filter(({ taskId }) => taskId === id).map(({ algorithm }) => algorithm)
    expect(algorithmsOf(20)).toEqual(parseAlgorithms('tuned').filter((name) => algorithmNames.includes(name)))
    expect(algorithmsOf(501)).toEqual(serverPolicyNames)
  })

  it('says what it would do, and refuses what means nothing here', async () => {
    const { stdout } = await call([...argv, '--max-load', '--dry-run', '--algorithm', 'all'])
    expect(stdout.trim().split('\n')).toHaveLength(serverPolicyNames.length)
    expect(stdout).toContain('max-load')
    for (const [option, ...value] of [
      ['--backend', 'nvml'],
      ['--latency-objective', '50'],
      ['--power-margin', '20'],
      ['--enable-shadow'],
      ['--load-factor', '0'],
      ['--load-factor', '1e9'],
    ]) {
      await expect(call([...argv, option!, ...value])).rejects.toThrow(option!)
    }
    await expect(call([...argv, '--algorithm', 'morak'])).rejects.toThrow('pctodl')
    await expect(call(['--gpu', 'A100', '--max-load'])).rejects.toThrow('--set')
    expect(parseAlgorithms('all,oracle').at(-1)).toBe('oracle')
    expect(() => parseAlgorithms('none')).toThrow('oracle')
  })
})

describe('bursts beyond what the tenants can serve', () => {
  it('leave pctodl ready for the part that they can', async () => {
    const task = serverTasksOf('3080Ti').find(({ name }) => name === 'azure-chat')!
    const policy = createServerPolicy('pctodl', task, { model })
    const { services } = await runServerLoad({ ...task, durationS: 60, boardName: '3080Ti', seed: 7003 }, policy)
    // Without that readiness .92.
    expect(Math.min(...services.map(({ attainment }) => attainment!))).toBeGreaterThan(0.96)
  })

  it('do not keep pctodl at the top clock once they are over', async () => {
    const task = serverTasksOf('A100').find(({ name }) => name === 'azure-chat')!
    const policy = createServerPolicy('pctodl', task, { model: modelOf('A100', undefined) })
    const { meanPowerW } = await runServerLoad({ ...task, durationS: 60, boardName: 'A100', seed: 2 }, policy)
    // 65 W at the top clock for most of the run.
    expect(meanPowerW).toBeLessThan(55)
  })
})
