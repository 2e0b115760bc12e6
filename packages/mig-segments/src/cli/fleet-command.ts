import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { asUsage, endingAtOnce, type Terminal, UsageError, writeFileAtomically } from '@pctodl/command-line'
import { formatFleetMap, parseFleetMap, readMap } from '@pctodl/mig-deploy'
import { planFleet } from '../fleet/plan-fleet.js'
import { simulateFleet } from '../fleet/simulate-fleet.js'
import { loadFleet } from '../input/load-fleet.js'
import { exampleFolder, loadObjectives } from '../input/load-inputs.js'
import { scenarioAt } from '../input/parse-objectives.js'
import { DEFAULT_LATENCY_SHARE } from '../latency-gate.js'
import { stepFleetMaps } from '../replan/fleet-migration.js'
import { replanFleet } from '../replan/replan-fleet.js'
import { breaksFirst, explainLimits, serviceLimits } from '../tail/service-limits.js'
import { boardTable, changeOf, fleetSummary } from './fleet-report.js'
import { type ManifestOptions, manifestsOf } from './manifest-options.js'
import { fleetFile } from './plan-report.js'
import { type TrafficOptions, trafficOf } from './traffic-options.js'

export interface FleetCommandOptions extends ManifestOptions, TrafficOptions {
  readonly fleet: string
  readonly slo?: string
  readonly maxProcesses: number
  readonly rateFactor: number
  readonly gate: 'latency' | 'tail'
  readonly latencyShare: number
  readonly maxIterations: number
  readonly output: string
  readonly from?: string
  readonly consolidate?: boolean
  readonly strict?: boolean
  readonly json?: boolean
}

/** Boards of the largest fleet whose services are simulated until they break: larger ones take too long for a line. */
const MAX_SIMULATED_BOARDS = 400

export async function fleet(sloIndex: number, options: FleetCommandOptions, terminal: Terminal): Promise<number> {
  const { gate, latencyShare, maxIterations, rateFactor, maxProcesses } = options
  const traffic = trafficOf(options, gate)
  if (gate === 'tail' && latencyShare !== DEFAULT_LATENCY_SHARE) {
    throw new UsageError('--latency-share is for --gate latency; leave it away')
  }
  const manifests = manifestsOf(options)
  const described = asUsage(() => loadFleet(options.fleet, { maxProcesses }))
  const models = [...new Set(described.groups.flatMap(({ profiles }) => profiles.map(({ model }) => model)))].sort(
    (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  const scenarios = loadObjectives(options.slo ?? exampleFolder('example-objectives'), models)
  const objectives = asUsage(() => scenarioAt(scenarios, sloIndex)).map((objective) => ({
    ...objective,
    ratePerS: objective.ratePerS * rateFactor,
  }))
  const { from, consolidate = false } = options
  if (consolidate && from === undefined) throw new UsageError('--consolidate is for --from; add it')
  const how = { gate, latencyShare, maxIterations, ...traffic }
  const running = from === undefined ? [] : parseFleetMap(readMap(from, '--from'), from)
  const plan = await endingAtOnce(async () =>
    from === undefined
      ? planFleet(described, objectives, how)
      : replanFleet(running, described, objectives, { ...how, consolidate }),
  )
  const limits =
    plan.boards.length > MAX_SIMULATED_BOARDS
      ? null
      : serviceLimits(plan.served, traffic, (served, way) =>
          simulateFleet({ boards: plan.boards, served }, described, way),
        )
  const folder = path.dirname(fleetFile(options.output, sloIndex))
  const steps = 'steps' in plan ? stepFleetMaps(running, plan.steps) : []
  if (from !== undefined) rmSync(path.join(folder, 'steps'), { recursive: true, force: true })
  const files = Object.entries({
    'fleet.csv': formatFleetMap(plan.boards),
    ...manifests(plan.boards),
    ...Object.fromEntries(
      steps.map((map, i) => [path.join('steps', `step-${String(i + 1).padStart(3, '0')}.csv`), formatFleetMap(map)]),
    ),
  }).map(([name, content]) => {
    const file = path.join(folder, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileAtomically(file, content)
    return file
  })
  terminal.stdout.write(
    options.json
      ? `${JSON.stringify({ ...plan, ...(limits && { limits, breaksFirst: breaksFirst(plan.served, limits) }), files }, null, 2)}\n`
      : `${boardTable(plan, terminal)}\n\n${'steps' in plan ? changeOf(plan) : ''}${fleetSummary(plan)}\n\n${limits ? `${explainLimits(plan.served, limits)}\n\n` : ''}Written:\n${files.map((file) => `  ${file}`).join('\n')}\n`,
  )
  for (const { message } of plan.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return options.strict && plan.unserved.length > 0 ? 1 : 0
}
