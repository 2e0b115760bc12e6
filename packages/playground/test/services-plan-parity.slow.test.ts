import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { afterAll, describe, expect, it } from 'vitest'
import { answerPlan } from '../site/plan/plan-answer.js'
import { firstPlan } from '../site/plan/plan-question.js'
import { planCommand, servicesCommand } from '../site/plan/written-plan.js'
import { answerServices, plainServices } from '../site/plan-services/services-answer.js'
import { firstServicesQuestion, type ServicesQuestion } from '../site/plan-services/services-question.js'
import { usualService } from '../site/services/asked-service.js'
import { servicesYaml } from '../site/services/services-yaml.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-services-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the command line makes of the file and of the command as the page shows them. */
async function byCommand(question: ServicesQuestion) {
  const file = path.join(folder, 'services.yaml')
  writeFileSync(file, servicesYaml(question.services))
  const argv = servicesCommand(question)
    .split(' ')
    .slice(3)
    .map((word) => (word === 'services.yaml' ? file : word))
  let stdout = ''
  await pctodlPartition([...argv, '--json'], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: () => {} },
    signal: new AbortController().signal,
    env: {},
  })
  const { board: _, elapsedMs: __, ...plan } = JSON.parse(stdout)
  return plan
}

const first = firstServicesQuestion
const heavy = first.services.map((service) => ({ ...service, ratePerS: 4 * service.ratePerS }))

describe('a plan for services in the page', () => {
  it.each<[string, ServicesQuestion]>([
    ['the fewest watts', first],
    ['the most load, with other margins', { ...first, objective: 'max-load', rateMargin: 1.25, latencyMargin: 0.2 }],
    ['what to let in under a low cap', { ...first, objective: 'max-value', services: heavy, powerCapW: 110 }],
    ['bounds', { ...first, maxTenants: 3, sharePercentStep: 10, memClockMhz: 5001, burstiness: 2, powerMarginW: 5 }],
    ['no plan', { ...first, services: heavy, powerCapW: 100 }],
  ])('is that of the command line to the last digit: %s', async (_, question) => {
    const {
      elapsedMs: __,
      powerIntervalW,
      energyPerRequestJ,
      sms,
      ...plan
    } = {
      elapsedMs: 0,
      powerIntervalW: null,
      energyPerRequestJ: null,
      sms: null,
      ...answerServices(loadPerfModel(question.board), question),
    }
    expect(JSON.parse(JSON.stringify(plan))).toEqual(await byCommand(question))
    if (!plan.feasible) return
    expect(powerIntervalW![0]).toBeLessThan(plan.prediction.powerW)
    expect(powerIntervalW![1]).toBeGreaterThan(plan.prediction.powerW)
    expect(sms).toHaveLength(plan.configuration.tenants.length)
    const answeredPerS = plan.prediction.services.reduce((sum, each) => sum + each.answeredPerS, 0)
    expect(energyPerRequestJ! * answeredPerS).toBeCloseTo(plan.prediction.powerW, 6)
  })

  it('writes a file that is read as it was meant, whatever the names', async () => {
    const names = ['yes', '- a: b', 'x # y', "it's", '"q"', '1e3', '~', 'null', ' padded ', 'ü\n"', '{a}', '*a']
    const services = names.map((name, i) => ({
      ...usualService,
      name,
      model: 'mobilenet_v2',
      ratePerS: 1,
      p99Ms: 500,
      ...(i % 2 === 0 ? {} : { weight: 0.5, maxBatchSize: 4, maxQueueDelayMs: 1.5 }),
    }))
    const plan = await byCommand({ ...first, services })
    const tenants: readonly { service: string; batchSize: number }[] = plan.configuration.tenants
    expect([...new Set(tenants.map(({ service }) => service))]).toEqual(names)
    expect(plan.maxQueueDelayMs).toEqual(services.map(({ maxQueueDelayMs }) => maxQueueDelayMs))
  })

  it('stands beside what takes no search', () => {
    const model = loadPerfModel(first.board)
    const plan = answerServices(model, first)
    const plain = plainServices(model, first)
    expect(plain.map(({ manner }) => manner)).toEqual(['equal-shares', 'one-batch', 'shares-by-load'])
    for (const { found } of plain) {
      expect(plan.feasible && found && plan.score <= found.score).toBe(true)
    }
  })
})

it('the command of a plan for networks names each weight but 1', () => {
  const networks = [2, 1, 0.5].map((weight, i) => ({ model: `net-${i}`, weight }))
  expect(planCommand({ ...firstPlan, networks })).toContain(' --model net-0=2,net-1,net-2=0.5 ')
})

it('a plan for networks says what was never measured, within which bounds it expects what, and on how many SMs', () => {
  const { parameters, spec } = loadPerfModel('3080Ti')
  const networks = parameters.profile.networks.map((network) => ({
    ...network,
    mpsPercent: [1, 2] as [number, number],
  }))
  const model = new PerfModel({ ...parameters, profile: { ...parameters.profile, networks } }, spec)
  const plan = answerPlan(model, firstPlan)
  if (!plan.feasible) throw new Error(plan.message)
  const { tenants } = plan.configuration
  expect(plan.outside).toContain(
    `outside the profile: tenants[0].mpsPercent is ${tenants[0]!.mpsPercent}, measured were 1 to 2`,
  )
  expect(plan.sms).toEqual(tenants.map(({ mpsPercent }) => expect.closeTo((mpsPercent * spec.smCount) / 100, -0.5)))
  for (const [[low, high], mean] of [
    [plan.throughputInterval, plan.prediction.throughput],
    [plan.powerIntervalW, plan.prediction.powerW],
  ] as const) {
    expect(low).toBeLessThan(mean)
    expect(high).toBeGreaterThan(mean)
  }
})
