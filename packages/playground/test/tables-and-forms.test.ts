import * as server from '@pctodl/bench-runner/server'
import * as partitioning from '@pctodl/greedy-partition'
import * as services from '@pctodl/greedy-partition/services'
import * as perfModel from '@pctodl/perf-model'
import { type ServiceReading, smClocksAt } from '@pctodl/platform'
import * as traffic from '@pctodl/traffic'
import { type ComponentChildren, isValidElement, type VNode } from 'preact'
import { describe, expect, it } from 'vitest'
import { Bars } from '../site/parts/bars.js'
import { BoardChoice } from '../site/parts/board-fields.js'
import { Choice } from '../site/parts/fields.js'
import { alternativesTo } from '../site/plan/alternatives.js'
import { sweepCaps, sweepPoint } from '../site/plan/cap-sweep.js'
import { answerPlan } from '../site/plan/plan-answer.js'
import { firstPlan, type PlanQuestion, searchOptions } from '../site/plan/plan-question.js'
import { planCommand, planProgram, servicesCommand, servicesProgram } from '../site/plan/written-plan.js'
import { answerServices } from '../site/plan-services/services-answer.js'
import { firstServicesQuestion } from '../site/plan-services/services-question.js'
import { disturbances } from '../site/run/disturbances.js'
import { Lane } from '../site/run/lane.js'
import { firstRun } from '../site/run/run-question.js'
import { runCommands } from '../site/run/written-run.js'
import { ServedNow } from '../site/run-services/served-now.js'
import { ServedRun } from '../site/run-services/served-run.js'
import { ServicesRunForm } from '../site/run-services/services-run-form.js'
import { firstServicesRun, type ServicesRunQuestion } from '../site/run-services/services-run-question.js'
import type { ServicesRunState } from '../site/run-services/services-run-state.js'
import { tasks } from '../site/run-services/task-description.js'
import { servicesRunProgram } from '../site/run-services/written-services-run.js'

type Props = Record<string, unknown>

/** Properties of every element of a kind, in the order of the page. Components inside are not called. */
function propsOf(node: ComponentChildren, kind: unknown): Props[] {
  if (Array.isArray(node)) return node.flatMap((child) => propsOf(child, kind))
  if (!isValidElement(node)) return []
  const { type, props } = node as VNode<Props>
  return [...(type === kind ? [props] : []), ...propsOf(props['children'] as ComponentChildren, kind)]
}

describe('a comparison', () => {
  it('marks the plan, which is first', () => {
    const bars = ['plan', 'fixed clock', 'equal shares'].map((name) => ({ name, value: 1, text: '1', more: [] }))
    const rows = propsOf(Bars({ label: '', heads: ['score'], bars }), 'tr')
    expect(rows.map((props) => props['class'])).toEqual(['ours', '', ''])
  })
})

describe('the recent outcome of services', () => {
  it('marks an objective as missed below 99 % in time, and not at 99 %', () => {
    const none = { arrived: 0, completed: 0, late: 0, shed: 0, failed: 0, queued: 0 }
    const reading = (service: string, late: number) =>
      ({ ...none, service, arrived: 100, completed: 100, late }) as ServiceReading
    const lane = new Lane('pctodl', '--network-1')
    const of = [reading('kept', 1), reading('missed', 2)]
    lane.add({ readings: [], windows: [], said: [], services: [{ timeMs: 1000, of }] })
    const services = of.map(({ service }) => ({ name: service, p99Ms: 50 }))
    const cells = propsOf(ServedNow({ lanes: [lane], services }), 'td').filter((props) => 'class' in props)
    expect(cells.map((props) => props['class'])).toEqual(['', 'missed'])
  })
})

describe('the form of a run of services', () => {
  /** The form for a question, and the question after the form has changed it. */
  function form(asked: Partial<ServicesRunQuestion>) {
    const question = { value: { ...firstServicesRun, ...asked }, peek: () => question.value }
    const drawn = ServicesRunForm({ state: { question, known: {}, caps: [] } as unknown as ServicesRunState })
    const [choice] = propsOf(drawn, Choice) as { readonly options: readonly { readonly value: string }[] }[]
    const [boards] = propsOf(drawn, BoardChoice) as { readonly onChange: (chosen: { board: string }) => void }[]
    return { question, offered: choice!.options.map(({ value }) => value), boards: boards! }
  }
  const [first] = tasks
  const { board, name } = first!
  const ofBoard = tasks.filter((task) => task.board === board).map((task) => task.name)

  it('offers each task of the board once, own services last, and a task from an address that the board lacks', () => {
    const own = 'your own services'
    expect(form({ board, task: name }).offered).toEqual([...ofBoard, own])
    expect(form({ board, task: null }).offered).toEqual([...ofBoard, own])
    expect(form({ board, task: 'unknown' }).offered).toEqual([...ofBoard, 'unknown', own])
  })

  it('keeps the task on a board that has it too, and takes own services where the board lacks it', () => {
    const other = tasks.find((task) => task.board !== board && task.name === name)!
    const { question, boards } = form({ board, task: name })
    boards.onChange({ board: other.board })
    expect(question.value).toMatchObject({ board: other.board, task: name })
    boards.onChange({ board: 'mine.json' })
    expect(question.value).toMatchObject({ board: 'mine.json', task: null, caps: null })
  })
})

describe.each(['3080Ti', 'A100'])('what a plan for %s is compared with', (board) => {
  const model = perfModel.loadPerfModel(board)
  const oneNetwork = { ...firstPlan, board, powerCapW: 180, powerMarginW: 5 }
  const three = ['resnet50', 'vgg19', 'mobilenet_v2'].map((name) => ({ model: name, weight: 1 }))

  it.each<[string, Partial<PlanQuestion>]>([
    ['risk', {}],
    ['mean', { risk: 'mean', networks: three }],
  ])('is equal processes on the whole board, at the highest clock that holds the cap by %s', (_, changes) => {
    const question = { ...oneNetwork, ...changes }
    const { risk, networks, powerCapW, powerMarginW } = question
    const found = alternativesTo(model, question)
    expect(found.map(({ configuration }) => configuration.tenants.length)).toEqual(
      networks.length === 1 ? [board === 'A100' ? 8 : 4, 1] : [board === 'A100' ? 9 : 6],
    )
    for (const { name, configuration, throughput, powerW } of found) {
      const { tenants, smClockMhz, memClockMhz } = configuration
      expect(name).toMatch(tenants.length === 1 ? /^one process/ : new RegExp(`^${tenants.length} equal shares`))
      expect(tenants.reduce((sum, { mpsPercent }) => sum + mpsPercent, 0)).toBeCloseTo(100, 9)
      for (const network of networks) {
        const own = tenants.filter((tenant) => tenant.model === network.model)
        expect(own).toHaveLength(tenants.length / networks.length)
      }
      const judgedW = (clock: number) => {
        const at = { tenants, memClockMhz, smClockMhz: clock }
        return risk === 'mean' ? model.predict(at).powerW : model.upperPowerW(at, risk)
      }
      const clocks = smClocksAt(model.spec, memClockMhz)!
      const next = clocks[clocks.indexOf(smClockMhz) + 1]
      expect(judgedW(smClockMhz)).toBeLessThanOrEqual(powerCapW - powerMarginW)
      if (next !== undefined) expect(judgedW(next)).toBeGreaterThan(powerCapW - powerMarginW)
      const predicted = model.predict(configuration)
      expect([throughput, powerW]).toEqual([predicted.throughput, predicted.powerW])
    }
    const plan = answerPlan(model, question)
    if (!plan.feasible) throw new Error(plan.message)
    for (const { throughput } of found) expect(plan.prediction.throughput).toBeGreaterThan(0.98 * throughput!)
  })

  it('has no throughput under a cap that it cannot hold', () => {
    const lowest = alternativesTo(model, { ...oneNetwork, powerCapW: 60 })
    expect(lowest.map(({ throughput }) => throughput)).toEqual([null, null])
  })

  it('is the best plan under every other cap, from the lowest whole watt to the limit of the board', () => {
    const caps = sweepCaps(model, oneNetwork)
    const { powerCapW: _, ...others } = searchOptions(oneNetwork)
    const lowest = Math.ceil(partitioning.lowestFeasibleCap(model, others)!)
    expect([caps[0], caps.at(-1)]).toEqual([lowest, model.spec.powerLimitW.max])
    expect(caps).toEqual([...new Set(caps)].toSorted((a, b) => a - b))
    const gaps = caps.slice(1).map((cap, i) => cap - caps[i]!)
    expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThanOrEqual(1)
    expect(sweepPoint(model, oneNetwork, lowest - 2)).toBeUndefined()
    const same = answerPlan(model, oneNetwork)
    const point = sweepPoint(model, oneNetwork, oneNetwork.powerCapW)!
    if (!same.feasible) throw new Error(same.message)
    const { configuration, prediction, throughputInterval, powerIntervalW } = same
    const { tenants, ...clocks } = configuration
    const { throughput, powerW } = prediction
    expect(point).toMatchObject({ ...clocks, tenants: tenants.length, throughput, powerW })
    expect(point).toMatchObject({ throughputInterval, powerIntervalW })
    for (const [[low, high], value] of [
      [throughputInterval, throughput],
      [powerIntervalW, powerW],
    ] as const) {
      expect(low).toBeLessThan(value)
      expect(high).toBeGreaterThan(value)
    }
  })
})

it('a disturbance lasts as long as its description says', () => {
  for (const { name, meaning, fault } of Object.values(disturbances)) {
    const injected = fault(3000)
    const seconds = /(\d+) s\b/.exec(meaning)?.[1]
    expect(injected.atMs, name).toBe(3000)
    expect('durationMs' in injected ? injected.durationMs : undefined, name).toBe(seconds && 1000 * Number(seconds))
    const percent = /(\d+) % low/.exec(name)?.[1]
    if ('gainPercent' in injected) expect(injected.gainPercent).toBe(-Number(percent))
  }
})

describe('a program that the page shows', () => {
  const modules: Readonly<Record<string, unknown>> = {
    '@pctodl/bench-runner/server': server,
    '@pctodl/greedy-partition': partitioning,
    '@pctodl/greedy-partition/services': services,
    '@pctodl/perf-model': perfModel,
    '@pctodl/traffic': traffic,
  }

  /** What a program prints, run with these sources. */
  async function printed(program: string): Promise<unknown[][]> {
    const lines: unknown[][] = []
    const AsyncFunction = (async () => {}).constructor as new (
      ...words: string[]
    ) => (...given: unknown[]) => Promise<void>
    const body = program.replace(/^import (\{.*\}) from ('.*')$/gm, 'const $1 = modules[$2]')
    await new AsyncFunction('modules', 'console', body)(modules, { log: (...line: unknown[]) => lines.push(line) })
    return lines
  }
  const model = perfModel.loadPerfModel('3080Ti')

  it.each<[string, Partial<PlanQuestion>]>([
    ['by default', {}],
    ['of two processes', { risk: 'mean', maxTenants: 2 }],
    [
      'with every option',
      { risk: 'mean', latencySloMs: 40, latencyPercentile: 'p99', maxTenants: 3, memClockMhz: 9501 },
    ],
  ])('makes the plan of the page %s', async (_, changes) => {
    const networks = [firstPlan.networks[0]!, { model: 'vgg19', weight: 4 }]
    const question: PlanQuestion = { ...firstPlan, networks, powerMarginW: 3, sharePercentStep: 10, ...changes }
    const plan = answerPlan(model, question)
    if (!plan.feasible) throw new Error(plan.message)
    expect(await printed(planProgram(question))).toEqual([[plan.configuration, plan.prediction]])
  })

  it.each(['min-power', 'max-value'] as const)('makes the plan of the page for services, %s', async (objective) => {
    const listed = firstServicesQuestion.services.slice(0, 2).map((service) => ({ ...service, maxBatchSize: 16 }))
    // Without its margin, the cap would be above the power of the plan of most value.
    const limits = { rateMargin: 1.2, powerCapW: 93, powerMarginW: 4 }
    const question = { ...firstServicesQuestion, ...limits, objective, services: listed }
    const plan = answerServices(model, question)
    if (!plan.feasible) throw new Error(plan.message)
    const [configuration, prediction] = (await printed(servicesProgram(question)))[0]!
    expect(configuration).toEqual(plan.configuration)
    expect(prediction).toEqual(plan.prediction)
  })

  const own = {
    task: null,
    services: firstServicesRun.services.slice(0, 2),
    caps: [{ powerCapW: 200, atS: 0 }],
    durationS: 12,
  }
  it.each<[string, Partial<ServicesRunQuestion>]>([
    ['of a task', { task: 'pair-at-night', caps: [{ powerCapW: 230, atS: 0 }], loadFactor: 0.5 }],
    ['of own services in bursts', { ...own, burstiness: 5, seed: 9 }],
  ])('repeats the run %s', async (_, changes) => {
    const question: ServicesRunQuestion = { ...firstServicesRun, policies: ['equal-shares'], ...changes }
    const run = new ServedRun(question, 'equal-shares', model)
    run.allow(Number.POSITIVE_INFINITY)
    const { served } = await run.run(new AbortController().signal)
    const { objectivesMet, capHolds, meanPowerW, services: each } = served!
    expect(await printed(servicesRunProgram(question))).toEqual([
      ['equal-shares', objectivesMet, capHolds, meanPowerW, each],
    ])
  })

  it('contains no code of a link, and neither does a command', async () => {
    const board = `3080Ti'); reached(); ('"); reached(); ("$(reached).json`
    const networks = [{ model: `a; reached #'\\''; reached; '\n\r%PATH% !! \`reached\` “`, weight: 1 }]
    const programs = [
      planProgram({ ...firstPlan, board }),
      servicesProgram({ ...firstServicesQuestion, board }),
      servicesRunProgram({ ...firstServicesRun, ...own, board }),
      servicesRunProgram({ ...firstServicesRun, board }),
    ]
    for (const program of programs) await expect(printed(program)).rejects.toThrow(/board/)
    const commands = [
      planCommand({ ...firstPlan, board, networks }),
      servicesCommand({ ...firstServicesQuestion, board }),
      runCommands({ ...firstRun, board, model: networks[0]!.model }),
    ]
    // Outside double quotes, there are only words and options; inside, nothing that any shell expands.
    for (const command of commands) {
      expect(command.replaceAll(/"[^"“”„$`\\%!\n]*"/g, '')).toMatch(/^[\w\s./:=,-]*$/)
    }
  })
})
