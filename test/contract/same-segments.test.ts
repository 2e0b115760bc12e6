import type { Workload } from '@pctodl/colocation'
import {
  breaksFirst,
  type Fleet,
  type FleetPlan,
  formatProfileCsv,
  parseProfileCsv,
  planDay,
  planFleet,
  planSegments,
  replanFleet,
  type ServiceObjective,
  serviceLimits,
  simulateFleet,
  simulatePlan,
} from '@pctodl/mig-segments'
import {
  boardsOf,
  deployActions,
  drawMap,
  formatDeploymentMap,
  formatFleetMap,
  formatKubernetes,
  formatMigParted,
  parseDeploymentMap,
  parseFleetMap,
  renderAction,
  segmentsOfNode,
} from '@pctodl/mig-segments/deploy'
import { findMigBoard } from '@pctodl/platform'
import { gammaArrivals } from '@pctodl/traffic'
import { describe, it } from 'vitest'
import { drawnServices, fleetProfiles } from './drawn-services.js'
import { digest, expectStored, orError, said } from './stored.js'

const scaled = (objectives: readonly ServiceObjective[], of: (m: number) => number) =>
  objectives.map((each, m) => ({ ...each, ratePerS: of(m) * each.ratePerS }))

const segmentsOf = (
  segments: readonly { profile: string; start: number; model: string; batchSize: number; processes: number }[],
) =>
  segments
    .map(({ profile, start, model, batchSize, processes }) => `${profile}@${start} ${model} ${batchSize}x${processes}`)
    .join(', ')

const workload = (model: string, batchSize: number, exclusiveThroughput: number): Workload => ({
  ...{ name: `${model}_batch${batchSize}-inf`, batchSize, training: false, exclusiveThroughput, memoryGib: 1 },
  ...{ threads: 1, smThroughputPercent: 1, dramThroughputPercent: 1, memoryThroughputPercent: 1, registers: 1 },
  ...{ staticSharedMemory: 1, smUtilPercent: 1, memUtilPercent: 1, powerW: 20 },
})

/** Boards of two types: at two clocks, with limits, and with models that share instances. */
function fleetFor(seed: number, number: number): { fleet: Fleet; objectives: readonly ServiceObjective[] } {
  const asked = drawnServices(9, seed, number, 2.5).find(({ profiles }) => profiles.length === number)!
  const atClock = (mhz: number, speed: number) =>
    fleetProfiles(asked, speed).map(({ model, points }) => ({
      model,
      points: points.map((point) => ({
        ...point,
        smClockMhz: mhz,
        latencyMs: point.latencyMs / speed,
        powerW: point.powerW! * (mhz / 1400) ** 2,
      })),
    }))
  const [low, high] = [atClock(1000, 0.8), atClock(1400, 1)]
  const clocked = high.map(({ model, points }, m) => ({ model, points: [...points, ...low[m]!.points] }))
  const groups: Fleet['groups'] = [
    {
      ...{ gpu: 'A100-80GB', profiles: clocked, price: 1, idleW: { 1000: 50, 1400: 62 } },
      ...{ boards: 6, boardsPerNode: 2, boardCapW: 230, nodeCapW: 430 },
    },
    { gpu: 'H100', profiles: fleetProfiles(asked, 1.6), price: 1.5, idleW: 70, boards: 4 },
  ]
  return { fleet: { groups, powerW: 1600 }, objectives: asked.objectives }
}

const lineOfFleet = (plan: FleetPlan) =>
  [
    said([plan.cost, plan.lowerBoundCost, plan.powerW, plan.lowerBoundPowerW, plan.meanPowerW, plan.lowerBoundSlices]),
    plan.boards
      .map(
        ({ gpu, node, index, smClockMhz, segments }) =>
          `${gpu} ${node}/${index} ${smClockMhz}: ${segmentsOf(segments)}`,
      )
      .join('; '),
    said(plan.unserved.map(({ model, reason, keepableMs }) => [model, reason, keepableMs])),
    digest(plan),
  ].join(' ')

describe('the same maps of MIG segments as before', () => {
  it('are planned for boards of one type', async () => {
    const lines: string[] = []
    const lineOf = (plan: Awaited<ReturnType<typeof planSegments>>) =>
      [
        said([plan.gpuCount, plan.lowerBoundGpus, plan.gpcCount, plan.lowerBoundGpcs, plan.power?.highestW ?? null]),
        said(plan.unserved.map(({ model, reason, message, keepableMs }) => [model, reason, keepableMs, message])),
        digest(plan),
      ].join(' ')
    for (const { profiles, objectives } of drawnServices(4, 2311, 4, 1.5)) {
      for (const options of [
        {},
        { latencyShare: 0.2, maxGpus: 2 },
        { powerCap: { boardW: 120, idleW: 60 } },
        { maxIterations: 30 },
      ]) {
        const line = await orError(() => planSegments(profiles, objectives, options), lineOf)
        lines.push(`${JSON.stringify(options)} ${line}`)
      }
    }
    const [first, second] = drawnServices(2, 97, 3) as [
      ReturnType<typeof drawnServices>[number],
      ReturnType<typeof drawnServices>[number],
    ]
    for (const options of [
      { gate: 'tail', checkRequests: 1000 },
      { gate: 'tail', dispatch: 'split', burstiness: 4, rateError: 0.2, checkRequests: 1000 },
      { gate: 'tail', dispatch: 'split', burstiness: 0.3, timeError: 0.3, checkRequests: 0 },
      {
        gate: 'tail',
        checkRequests: 500,
        arrivals: [(ratePerS: number) => gammaArrivals({ ratePerS, burstiness: 6 })],
      },
    ] as const) {
      for (const { profiles, objectives } of 'dispatch' in options ? [second] : [first, second]) {
        lines.push(await orError(() => planSegments(profiles, objectives, options), lineOf))
      }
    }
    const { profiles, objectives } = first
    const never = [
      { model: 'model0', ratePerS: 10, latencyMs: 1 },
      { model: 'nobody', ratePerS: 10, latencyMs: 100 },
      { model: 'dead', ratePerS: 10, latencyMs: 100 },
    ]
    const dead = { model: 'dead', points: profiles[0]!.points.map((point) => ({ ...point, processThroughput: 0 })) }
    const idle = { powerCap: { boardW: 61, idleW: 60 } }
    lines.push(await orError(() => planSegments([...profiles, dead], never), lineOf))
    lines.push(await orError(() => planSegments(profiles, objectives, idle), lineOf))
    const plan = await planSegments(profiles, objectives)
    for (const options of [
      { requests: 3000, seed: 3 },
      { requests: 3000, burstiness: 5, dispatch: 'split', perSlot: 20 },
      { requests: 2000, fresh: true, only: new Set(['model0']) },
    ] as const)
      lines.push(said(simulatePlan(plan, profiles, options)))
    const limits = serviceLimits(plan.served, { burstiness: 3 }, (served, way) =>
      simulatePlan({ gpus: plan.gpus, served }, profiles, { ...way, requests: 1500 }),
    )
    lines.push(said([limits, breaksFirst(plan.served, limits)]))
    const text = formatProfileCsv(profiles[0]!)
    lines.push(digest(text), digest(parseProfileCsv(text, 'model0', 'model0.csv')))
    await expectStored('segments', lines)
  })

  it('are planned for fleets, changed, and followed over a day', async () => {
    const lines: string[] = []
    for (const [seed, number] of [
      [5, 2],
      [41, 3],
    ] as const) {
      const { fleet, objectives } = fleetFor(seed, number)
      const ways = [{}, { gate: 'tail', checkRequests: 800, maxIterations: 300 }] as const
      for (const options of seed === 5 ? ways : [ways[0]]) {
        lines.push(`${seed} ${await orError(() => planFleet(fleet, objectives, options), lineOfFleet)}`)
      }
      const plan = await planFleet(fleet, objectives)
      lines.push(said(simulateFleet(plan, fleet, { requests: 2000 })))
      for (const options of [{}, { consolidate: true }, { maxIterations: 5 }]) {
        const next = scaled(objectives, (m) => (m === 0 ? 0.3 : 1.5))
        lines.push(
          await orError(
            () => replanFleet(plan.boards, fleet, next, options),
            ({ created, restarted, removed, kept, lowerBoundMoves, freshCost, cost, steps, ...rest }) =>
              [
                said([cost, freshCost, created, restarted, removed, kept, lowerBoundMoves]),
                steps.map(({ kind }) => kind[0]).join(''),
                digest([steps, rest]),
              ].join(' '),
          ),
        )
      }
      const tighter = { groups: fleet.groups.map((group) => ({ ...group, boards: 1 })), powerW: 150 }
      lines.push(await orError(() => planFleet(tighter, objectives), lineOfFleet))
      const periods = [0.3, 1, 0.6].map((factor) => scaled(objectives, (m) => (m === 0 ? factor : 1)))
      const one = { groups: [{ ...fleet.groups[0]!, boardsPerNode: 8, nodeCapW: 2000 }] }
      for (const options of [
        {},
        { maxLate: 0.02 },
        { gate: 'tail', checkRequests: 500, maxIterations: 200 },
      ] as const) {
        if ('gate' in options && seed !== 5) continue
        const day = { periodS: 900, migrationS: 30, parkedW: 20, maxIterations: 400, ...options }
        lines.push(
          await orError(
            () => planDay(one, periods, day),
            ({ energyJ, created, lateRequests, maxBoards, boards, requests, lowerBoundJ, staticPlan, ...rest }) =>
              `${said([energyJ, created, lateRequests, maxBoards, boards, requests, lowerBoundJ, staticPlan])} ${digest(rest)}`,
          ),
        )
      }
    }
    const [asked] = drawnServices(1, 12, 2) as [ReturnType<typeof drawnServices>[number]]
    const profiles = fleetProfiles(asked)
    const coRunners = (['1g.10gb', '2g.20gb'] as const).map((profile, i) => ({
      profile,
      source: {
        workloads: asked.profiles.flatMap(({ model }, m) =>
          [1, 8].map((batch) => workload(model, batch, 90 * (i + 1) + 20 * m)),
        ),
        keptShares: (members: readonly unknown[]) => members.map(() => (members.length === 1 ? 1 : 0.7)),
      },
      powerW: (members: readonly unknown[]) => 15 * members.length,
      maxMembers: 2,
    }))
    const shared: Fleet = { groups: [{ gpu: 'A100-80GB', profiles, idleW: 60, coRunners, boardCapW: 250 }] }
    const few = scaled(asked.objectives, () => 0.15)
    const plan = await planFleet(shared, few)
    lines.push(lineOfFleet(plan), said(simulateFleet(plan, shared, { requests: 1000 })))
    lines.push(
      await orError(
        () =>
          replanFleet(
            plan.boards,
            shared,
            scaled(few, (m) => 2 - m),
          ),
        (next) => digest(next),
      ),
    )
    await expectStored('segments-fleets', lines)
  })

  it('are written, read and deployed', async () => {
    const rows = '0,0,net,4,3,8,2\n0,0,other,0,4,4,1\n1,2,net,0,2,16,3\n1,2,net,2,1,1,1\n1,3,big,0,7,32,1\n'
    const header = 'Num instance,Num GPU,Model,Placement,Instance size,Batch size,Num proc\n'
    const gpus = parseDeploymentMap(`${header}${rows}`, 'map.csv', 4)
    const boards = boardsOf(gpus, 'A100-80GB', 4)
    const fleet = [
      ...boards.map((board, i) => ({ ...board, smClockMhz: 1005 + 15 * i })),
      {
        ...{ gpu: 'H100', node: 0, index: 1 },
        segments: [
          { profile: '1g.10gb', start: 0, model: 'net', batchSize: 2, processes: 1 },
          { profile: '1g.10gb', start: 0, model: 'other', batchSize: 2, processes: 1 },
          { profile: '3g.40gb', start: 4, model: 'a & <b>', batchSize: 8, processes: 2 },
        ],
      },
    ]
    const workers = { image: 'registry/worker:1', command: ['serve', '--model', '{model}', '{batch}', '{processes}'] }
    const ported = { ...workers, command: [...workers.command, '{port}'], port: 8000, healthPath: '/health' }
    const texts = [
      formatDeploymentMap(gpus, 2),
      formatFleetMap(fleet),
      said(parseFleetMap(formatFleetMap(fleet), 'fleet.csv')),
      formatMigParted(fleet),
      formatKubernetes(boards, workers),
      formatKubernetes(fleet, { ...ported, nodeNames: { 'h100-node-0': 'gpu17' }, namespace: 'serving' }),
      formatKubernetes(fleet, { ...ported, devices: 'dra', operatorNamespace: 'operator' }),
      drawMap(gpus, findMigBoard('A100-80GB'), 4),
    ]
    const lines = texts.map((text) => `${text.length} ${digest(text)}`)
    const wrong: readonly (() => unknown)[] = [
      () => parseDeploymentMap(`${header}0,0,net,1,2,4,1\n`, 'map.csv'),
      () => parseDeploymentMap(`${header}0,8,net,0,2,4,1\n`, 'map.csv'),
      () => parseFleetMap('Board,Node\nA100,0\n', 'fleet.csv'),
      () => parseFleetMap(formatFleetMap(fleet).replace('3g.40gb', '9g.90gb'), 'fleet.csv'),
      () => formatKubernetes(boards, { ...ported, port: 65_535 }),
      () => segmentsOfNode(boards, 'A100-80GB', -1),
    ]
    for (const each of wrong) lines.push(await orError(each, () => 'made'))
    // Of a node on which some segments already run, what is done to have those of the map.
    const target = segmentsOfNode(fleet, 'A100-80GB', 1)
    const deployed = target.map((segment, i) => ({
      ...segment,
      ...{ instanceId: i + 1, uuid: `MIG-${i}`, mpsDirectory: `/place/gpu${segment.gpu}-slice${segment.start}` },
      workers: Array.from({ length: segment.processes }, (_, p) => ({ pid: 100 * i + p + 1, startTime: 5 })),
    }))
    const gpusOfNode = [0, 1, 2, 3].map((index) => ({
      index,
      uuid: `GPU-${index}`,
      name: 'A100',
      migEnabled: index > 1,
    }))
    const instances = deployed.map(({ gpu, instanceId, profile, start }) => ({ gpu, instanceId, profile, start }))
    const layout = { gpus: gpusOfNode, instances }
    const empty = { gpus: gpusOfNode.map((gpu) => ({ ...gpu, migEnabled: gpu.index === 3 })), instances: [] }
    const health = (workersRun: boolean, mpsRuns: boolean) => ({ workersRun: () => workersRun, mpsRuns: () => mpsRuns })
    const moved = target.map((segment, i) =>
      i === 0 ? { ...segment, batchSize: 64 } : { ...segment, smClockMhz: 900 },
    )
    const resized = target.map((segment, i) => (i === 2 ? { ...segment, profile: '4g.40gb' } : segment))
    const situations = [
      deployActions(target, [], empty, true, health(false, false)),
      deployActions(target, [], empty, false, health(false, false)),
      deployActions(target, deployed, layout, true, health(true, true)),
      deployActions(target, deployed, layout, true, health(false, true)),
      deployActions(target, deployed, layout, true, health(true, false)),
      deployActions(target, deployed, layout, false, health(true, true)),
      deployActions(moved, deployed, layout, true, health(true, true)),
      deployActions(resized, deployed, layout, true, health(true, true)),
      deployActions(target.slice(1), deployed, layout, true, health(true, true)),
      deployActions([], deployed, layout, true, health(true, true)),
      deployActions(target, deployed.slice(1), layout, true, health(true, true)),
      deployActions(target, deployed, empty, true, health(true, true)),
    ]
    for (const actions of situations) {
      lines.push(
        `${actions.map(({ kind }) => kind).join(' ')} ${digest(actions)}`,
        ...actions.slice(0, 3).flatMap((action) => renderAction(action, '/place', ['serve', '{model}', 'a b'])),
      )
    }
    lines.push(
      await orError(
        () => deployActions([{ ...target[0]!, gpu: 9 }], [], empty, true, health(true, true)),
        () => 'made',
      ),
    )
    await expectStored('segments-deployed', lines)
  })
})
