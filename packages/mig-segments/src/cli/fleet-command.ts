import path from 'node:path'
import {
  asUsage,
  integerFrom,
  numberBetween,
  oneOf,
  positiveNumber,
  type Terminal,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import Table from 'cli-table3'
import type { Command } from 'commander'
import { type FleetPlan, planFleet } from '../fleet/plan-fleet.js'
import { loadFleet } from '../input/load-fleet.js'
import { exampleFolder, loadObjectives } from '../input/load-inputs.js'
import { scenarioAt } from '../input/parse-objectives.js'
import { DEFAULT_MAX_PROCESSES } from '../input/parse-profile-csv.js'
import { DEFAULT_LATENCY_SHARE } from '../latency-gate.js'
import { formatFleetMap, formatFleetMigParted } from '../output/fleet-map.js'
import { DEFAULT_MOST_ITERATIONS } from '../plan-segments.js'

interface FleetCommandOptions {
  readonly fleet: string
  readonly slo?: string
  readonly maxProcesses: number
  readonly rateFactor: number
  readonly gate: 'latency' | 'tail'
  readonly latencyShare: number
  readonly burstiness: number
  readonly mostIterations: number
  readonly output: string
  readonly migParted?: boolean
  readonly strict?: boolean
  readonly json?: boolean
}

export function addFleetOptions(command: Command): Command {
  return command
    .requiredOption('--fleet <file.yaml>', 'types of boards: profiles, counts, prices, limits on watts')
    .option('--slo <folder>', 'SLO_req_rate.csv and SLO_latency.csv (default: the examples)')
    .option('--max-processes <n>', 'most MPS processes in an instance', integerFrom(1), DEFAULT_MAX_PROCESSES)
    .option('--rate-factor <x>', 'multiply all request rates', positiveNumber(), 1)
    .option(
      '--gate <name>',
      'latency: batch times; tail: p99 of a queue for each instance',
      oneOf('latency', 'tail'),
      'latency',
    )
    .option(
      '--latency-share <x>',
      'share of a latency objective that a batch may take',
      numberBetween(0.01, 1),
      DEFAULT_LATENCY_SHARE,
    )
    .option('--burstiness <x>', 'of requests, for --gate tail; 1 is Poisson', numberBetween(0.1, 100), 1)
    .option('--most-iterations <n>', 'simplex iterations of each proof', integerFrom(1), DEFAULT_MOST_ITERATIONS)
    .option('--output <folder>', 'where SLO<row>/fleet.csv goes', './deployment')
    .option('--mig-parted', 'write mig-parted.yaml beside it')
    .option('--strict', 'fail where a service cannot be served')
    .option('--json', 'print a JSON report on standard output')
}

export async function fleet(sloIndex: number, options: FleetCommandOptions, terminal: Terminal): Promise<number> {
  const { gate, latencyShare, burstiness, mostIterations, rateFactor, maxProcesses } = options
  if (gate === 'latency' && burstiness !== 1) throw new UsageError('--burstiness is for --gate tail; add it')
  if (gate === 'tail' && latencyShare !== DEFAULT_LATENCY_SHARE) {
    throw new UsageError('--latency-share is for --gate latency; leave it away')
  }
  const described = asUsage(() => loadFleet(options.fleet, { maxProcesses }))
  const models = [...new Set(described.groups.flatMap(({ profiles }) => profiles.map(({ model }) => model)))].sort(
    (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  const scenarios = loadObjectives(options.slo ?? exampleFolder('example-objectives'), models)
  const objectives = asUsage(() => scenarioAt(scenarios, sloIndex)).map((objective) => ({
    ...objective,
    ratePerS: objective.ratePerS * rateFactor,
  }))
  const plan = await planFleet(described, objectives, { gate, latencyShare, burstiness, mostIterations })
  const folder = path.join(options.output, `SLO${sloIndex}`)
  const files = Object.entries({
    'fleet.csv': formatFleetMap(plan.boards),
    ...(options.migParted && { 'mig-parted.yaml': formatFleetMigParted(plan.boards) }),
  }).map(([name, content]) => {
    const file = path.join(folder, name)
    writeFileAtomically(file, content)
    return file
  })
  terminal.stdout.write(
    options.json
      ? `${JSON.stringify({ ...plan, files }, null, 2)}\n`
      : `${boardTable(plan, terminal)}\n\n${summary(plan)}\n\nWritten:\n${files.map((file) => `  ${file}`).join('\n')}\n`,
  )
  for (const { message } of plan.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return options.strict && plan.unserved.length > 0 ? 1 : 0
}

function boardTable({ boards }: FleetPlan, terminal: Terminal): string {
  const style = terminal.stdout.isTTY ? {} : { head: [], border: [] }
  const table = new Table({ head: ['board', 'node', 'GPU', 'W', 'instances: model batch x processes'], style })
  for (const { gpu, node, index, powerW, segments } of boards) {
    const list = segments.map(
      ({ profile, start, model, batchSize, processes }) => `${profile}@${start} ${model} ${batchSize}x${processes}`,
    )
    table.push([gpu, node, index, Number.isNaN(powerW) ? '' : powerW.toFixed(0), list.join('\n')])
  }
  return table.toString()
}

function summary({ boards, cost, lowerBoundCost, powerW }: FleetPlan): string {
  const counts = new Map<string, number>()
  for (const { gpu } of boards) counts.set(gpu, (counts.get(gpu) ?? 0) + 1)
  const kinds = [...counts].map(([gpu, count]) => `${count} ${gpu}`).join(', ')
  const gap = cost > 0 ? (cost - lowerBoundCost) / cost : 0
  const proof =
    gap <= 1e-6 ? 'no plan costs less' : `at least ${lowerBoundCost.toPrecision(4)}, gap ${(100 * gap).toFixed(2)} %`
  const watts = Number.isNaN(powerW) ? '' : `; ${powerW.toFixed(0)} W while everything runs`
  return `${kinds || 'no boards'}: cost ${Number(cost.toPrecision(6))} (${proof})${watts}`
}
