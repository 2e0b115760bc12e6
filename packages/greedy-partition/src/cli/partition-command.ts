import { asUsage, type CommandFunction, type Terminal } from '@pctodl/command-line'
import type { PerfModel } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'
import type { PartitionOptions } from '../options.js'
import { partition } from '../partition.js'
import { planServices } from '../services/plan-services.js'
import { type PartitionCall, parseOptions } from './partition-options.js'
import { formatPlan } from './plan-report.js'
import { formatPartition, formatSteps, verificationCommand } from './report.js'
import type { ServicesCall } from './services-options.js'

/** The command `pctodl partition`; exit code 1 for an infeasible cap or bound. */
export const pctodlPartition: CommandFunction = async (argv, terminal) => {
  const call = await parseOptions(argv, terminal)
  const load = () => modelOf(call.spec.key, call.paramsFolder)
  // A board without shipped parameters is a usage error; an unreadable folder is a failure.
  const predictor = call.paramsFolder === undefined ? asUsage(load) : load()
  return call.services === undefined
    ? runPartition(predictor, call, terminal)
    : runServices(predictor, call, call.services, terminal)
}

function runServices(
  model: PerfModel,
  { spec, json }: PartitionCall,
  asked: ServicesCall,
  { stdout, stderr }: Terminal,
): number {
  const startMs = performance.now()
  const plan = asUsage(() => planServices(model, asked.services, asked.ratesPerS, asked.options))
  const elapsedMs = performance.now() - startMs
  if (json) stdout.write(`${JSON.stringify({ board: spec.key, ...plan, elapsedMs }, null, 2)}\n`)
  if (!plan.feasible) {
    if (!json) stderr.write(`pctodl partition: ${plan.message}\n`)
    return 1
  }
  if (!json) stdout.write(`${formatPlan(spec, asked, plan, elapsedMs)}\n`)
  return 0
}

function runPartition(predictor: PerfModel, call: PartitionCall, { stdout, stderr }: Terminal): number {
  const options = { ...call.search, models: call.networks }
  // Warm up before timing: a fresh process parses parameters and compiles code on first use. This also reports options
  // that only the search can check, such as an unknown memory clock.
  asUsage(() => warmUp(predictor, options))
  const startMs = performance.now()
  const result = partition(predictor, options)
  const elapsedMs = performance.now() - startMs
  if (call.json) {
    const verify = result.feasible ? verificationCommand(call.spec, result.configuration) : null
    stdout.write(`${JSON.stringify({ board: call.spec.key, ...result, elapsedMs, verify }, null, 2)}\n`)
  }
  if (!result.feasible) {
    if (!call.json) stderr.write(`pctodl partition: ${result.message}\n`)
    return 1
  }
  if (!call.json) {
    if (call.explain) stdout.write(`${formatSteps(result.steps)}\n\n`)
    stdout.write(`${formatPartition(call, result, elapsedMs)}\n`)
  }
  return 0
}

/** Run the greedy stage and discard its result. */
function warmUp(predictor: PerfModel, options: PartitionOptions): void {
  const { timeBudgetMs: _, now: __, ...untimed } = options
  partition(predictor, { ...untimed, improve: false })
}
