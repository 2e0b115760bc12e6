import { endingAtOnce, integerFrom, oneOf, positiveNumber, type Terminal, UsageError } from '@pctodl/command-line'
import { boardsOf, drawMap } from '@pctodl/mig-deploy'
import type { Command } from 'commander'
import { lateSegments } from '../batch-delay.js'
import { DEFAULT_MAX_ITERATIONS } from '../fleet/plan-fleet.js'
import { DEFAULT_LATENCY_SHARE } from '../latency-gate.js'
import { counted, explainBounds, explainPlan } from '../output/explain.js'
import { type BoundedPlan, type PowerCap, planSegments, simulatePlan, TooFewGpusError } from '../plan-segments.js'
import { type PublishedPlan, planAsPublished } from '../published/published-plan.js'
import { breaksFirst, explainLimits, type ServiceLimit, serviceLimits } from '../tail/service-limits.js'
import type { Dispatch } from '../tail/ways.js'
import { type FleetCommandOptions, fleet } from './fleet-command.js'
import { addManifestOptions, type ManifestOptions, manifestsOf } from './manifest-options.js'
import { addInputOptions, gpuLimit, type InputOptions, loadInputs, type PlanInputs } from './plan-options.js'
import { mapFile, planTables, writePlanFiles } from './plan-report.js'
import { type ReplanCommandOptions, replan } from './replan-command.js'
import { addTrafficOptions, type TrafficOptions, trafficOf } from './traffic-options.js'

interface PlanCommandOptions extends InputOptions, ManifestOptions, TrafficOptions {
  readonly algorithm: 'exact' | 'published'
  readonly gate: 'latency' | 'tail'
  readonly dispatch: Dispatch
  readonly maxIterations: number
  readonly powerCap?: number
  readonly idlePower?: number
  readonly picture?: boolean
  readonly explain?: boolean
  readonly strict?: boolean
}

export function addPlanOptions(command: Command): Command {
  return addManifestOptions(addTrafficOptions(addInputOptions(command)))
    .option('--algorithm <name>', 'exact, or published: that of ParvaGPU', oneOf('exact', 'published'), 'exact')
    .option(
      '--gate <name>',
      'latency: batch times, as published; tail: p99 of queues',
      oneOf('latency', 'tail'),
      'latency',
    )
    .option(
      '--dispatch <name>',
      'for --gate tail: a queue shared by all segments, or split',
      oneOf('shared', 'split'),
      'shared',
    )
    .option('--max-iterations <n>', 'simplex iterations of each proof', integerFrom(1), DEFAULT_MAX_ITERATIONS)
    .option('--power-cap <w>', 'most watts of a board; needs measured power in the profiles', positiveNumber())
    .option('--idle-power <w>', 'watts of a board whose instances wait, for --power-cap', positiveNumber())
    .option('--picture', 'draw the map: map.svg beside it')
    .option('--explain', 'say why the plan is as it is')
    .option('--strict', 'fail where a service cannot be served or is under-served')
    .option('--fleet <file.yaml>', 'boards of several types: profiles, counts, prices, limits on watts')
    .option('--from <map.csv>', 'change this running map with the fewest instances created, step by step')
    .option('--consolidate', 'with --from: until the boards cost no more than those of a plan from scratch')
}

const manifestNames = ['migParted', 'kubernetes', 'image', 'command', 'nodeNames', 'devices', 'port', 'healthPath']
const planOnly = ['algorithm', 'dispatch', 'powerCap', 'idlePower', 'picture', 'explain']

/** Options that one kind of plan has no place for, as commander names them. */
const without = {
  fleet: [...planOnly, 'gpu', 'profiles', 'gpusPerNode', 'nodes'],
  from: [...planOnly, ...manifestNames, 'gate', 'burstiness', 'rateError', 'timeError', 'arrivals', 'strict'],
}

/**
 * `pctodl segments plan`: with `--fleet` for boards of several types, with `--from` the change of a running map.
 *
 * @param command that was called: what it was given besides its defaults
 */
export async function planAny(sloIndex: number, command: Command, terminal: Terminal): Promise<number> {
  const options = command.opts<PlanCommandOptions & FleetCommandOptions & ReplanCommandOptions>()
  const given = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
  const refuse = (names: readonly string[], why: string) => {
    const wrong = given.find((option) => names.includes(option.attributeName()))
    if (wrong) throw new UsageError(`${wrong.long} ${why}`)
  }
  const isGiven = (name: string) => given.some((option) => option.attributeName() === name)
  if (isGiven('fleet')) {
    refuse(without.fleet, 'is not for --fleet; leave it away')
    return fleet(sloIndex, options, terminal)
  }
  if (isGiven('from')) {
    refuse(without.from, 'is for --from only with --fleet; leave it away')
    return replan(sloIndex, options, terminal)
  }
  refuse(['consolidate'], 'is for --from; add it')
  return plan(sloIndex, options, terminal)
}

async function plan(sloIndex: number, options: PlanCommandOptions, terminal: Terminal): Promise<number> {
  assertTogether(options)
  const manifests = manifestsOf(options)
  const inputs = loadInputs(sloIndex, options)
  for (const warning of inputs.warnings) terminal.stderr.write(`warning: ${warning}\n`)
  const result = await endingAtOnce(() => solve(inputs, options))
  const limits = limitsOf(result, inputs, options)
  const files = writePlanFiles(mapFile(options.output, sloIndex), result.gpus, options.gpusPerNode, {
    ...(options.picture && { 'map.svg': drawMap(result.gpus, inputs.board, options.gpusPerNode) }),
    ...manifests(boardsOf(result.gpus, inputs.board.key, options.gpusPerNode)),
  })
  const underServed = 'underServed' in result ? result.underServed : []
  if (options.json) {
    const late = options.gate === 'tail' ? {} : { lateSegments: lateSegments(result) }
    terminal.stdout.write(
      `${JSON.stringify({ ...result, ...late, ...(limits && { limits, breaksFirst: breaksFirst(result.served, limits) }), files }, null, 2)}\n`,
    )
  } else {
    terminal.stdout.write(report(result, inputs, options, limits, files, terminal))
  }
  for (const { message } of result.unserved) terminal.stderr.write(`not served: ${message}\n`)
  for (const model of underServed) terminal.stderr.write(`under-served: the published algorithm loses ${model}\n`)
  return options.strict && result.unserved.length + underServed.length > 0 ? 1 : 0
}

/** Options that the published algorithm has no place for. */
function assertTogether(options: PlanCommandOptions): void {
  const { algorithm, explain, latencyShare } = options
  assertTail(options)
  if (algorithm !== 'published') return
  if (explain) throw new UsageError('--explain explains exact plans; leave it away with published')
  if (latencyShare !== DEFAULT_LATENCY_SHARE) {
    throw new UsageError(`--latency-share is ${DEFAULT_LATENCY_SHARE} in the published algorithm; use another one`)
  }
}

function powerLimit({ algorithm, powerCap, idlePower }: PlanCommandOptions): { powerCap?: PowerCap } {
  if (powerCap === undefined) {
    if (idlePower === undefined) return {}
    throw new UsageError('--idle-power is for --power-cap; add it')
  }
  if (algorithm === 'published') throw new UsageError('the published algorithm knows no --power-cap; use exact')
  if (idlePower === undefined)
    throw new UsageError('--power-cap needs --idle-power, what a board draws while nothing runs')
  return { powerCap: { boardW: powerCap, idleW: idlePower } }
}

/** Options that belong to one gate. */
function assertTail(options: PlanCommandOptions): void {
  const { algorithm, gate, dispatch, latencyShare } = options
  trafficOf(options, gate)
  if (gate === 'latency') {
    if (dispatch === 'shared') return
    throw new UsageError('--dispatch is for --gate tail; add it')
  }
  if (algorithm === 'published') throw new UsageError('the published algorithm has no --gate tail; use exact')
  if (latencyShare !== DEFAULT_LATENCY_SHARE)
    throw new UsageError('--latency-share is for --gate latency; leave it away')
}

async function solve(
  { profiles, objectives }: PlanInputs,
  options: PlanCommandOptions,
): Promise<BoundedPlan | PublishedPlan> {
  const { algorithm, latencyShare, maxIterations, gate, dispatch } = options
  const limit = { ...gpuLimit(options), ...powerLimit(options) }
  if (algorithm === 'exact') {
    const how = gate === 'tail' ? { gate, dispatch, ...trafficOf(options, gate) } : { latencyShare }
    return planSegments(profiles, objectives, { ...limit, maxIterations, ...how })
  }
  const published = planAsPublished(profiles, objectives)
  if (limit.maxGpus !== undefined && published.gpuCount > limit.maxGpus) {
    throw new TooFewGpusError(limit.maxGpus, published.gpuCount, 0)
  }
  return published
}

/** GPUs of the largest plan whose services are simulated until they break: larger ones take too long for a line. */
const MAX_SIMULATED_GPUS = 400

/** What each service stands; null for plans that are too large, and the published ones, which may serve too little. */
function limitsOf(
  plan: BoundedPlan | PublishedPlan,
  { profiles }: PlanInputs,
  options: PlanCommandOptions,
): ServiceLimit[] | null {
  const { gate, dispatch } = options
  if (!('lowerBoundGpus' in plan) || plan.gpuCount > MAX_SIMULATED_GPUS) return null
  return serviceLimits(plan.served, trafficOf(options, gate), (served, way) =>
    simulatePlan({ gpus: plan.gpus, served }, profiles, { ...way, dispatch }),
  )
}

function report(
  result: BoundedPlan | PublishedPlan,
  { board, profiles }: PlanInputs,
  { explain, gate, gpusPerNode, latencyShare }: PlanCommandOptions,
  limits: readonly ServiceLimit[] | null,
  files: readonly string[],
  terminal: Terminal,
): string {
  const parts = [planTables(result, board, gpusPerNode, terminal)]
  if (limits) parts.push(explainLimits(result.served, limits))
  if ('lowerBoundGpus' in result) {
    const of = gate === 'tail' ? ", with the estimate's capacities" : ''
    const explained = explain && gate === 'latency'
    parts.push(explained ? explainPlan(result, profiles, latencyShare).trimEnd() : explainBounds(result, of))
  } else {
    parts.push(
      `${counted(result.gpuCount, 'GPU')}, ${result.gpcCount} compute slices, as the published algorithm has it; it overlapped ` +
        `instances on ${result.illegalGpus} of the GPUs, which got other start slots`,
    )
  }
  parts.push(`Written:\n${files.map((file) => `  ${file}`).join('\n')}`)
  return `${parts.join('\n\n')}\n`
}
