import { asUsage, type CommandFunction, type Terminal } from '@pctodl/command-line'
import type { Predictor } from '@pctodl/perf-model'
import { modelOf } from '@pctodl/perf-model/node'
import { smClocksAt } from '@pctodl/platform'
import type { PartitionOptions } from '../options.js'
import { partition } from '../partition.js'
import { publishedSearch } from '../published/published-search.js'
import { planServices } from '../services/plan-services.js'
import { type PartitionCall, parseOptions } from './partition-options.js'
import { formatPlan } from './plan-report.js'
import { type ChosenPredictor, choosePredictor } from './predictors.js'
import { formatPartition, formatPublished, formatPublishedSteps, formatSteps, verificationCommand } from './report.js'
import type { ServicesCall } from './services-options.js'

/** The command line `pctodl-partition` as a function. A cap or bound that cannot be kept is exit code 1. */
export const pctodlPartition: CommandFunction = async (argv, terminal) => {
  const call = await parseOptions(argv, terminal)
  if (call.services !== undefined) return runServices(call, call.services, terminal)
  const chosen = choosePredictor(call)
  for (const note of chosen.notes) terminal.stderr.write(`pctodl-partition: ${note}\n`)
  if (call.vectorizedIgnored) {
    terminal.stderr.write('pctodl-partition: --vectorized changes nothing without --published: there is one search\n')
  }
  return call.published === null ? runOurs(call, chosen, terminal) : runPublished(call, chosen, terminal)
}

function runServices(
  { spec, paramsFolder, json }: PartitionCall,
  asked: ServicesCall,
  { stdout, stderr }: Terminal,
): number {
  const load = () => modelOf(spec.key, paramsFolder)
  const model = paramsFolder === undefined ? asUsage(load) : load()
  const startMs = performance.now()
  const plan = asUsage(() => planServices(model, asked.services, asked.ratesPerS, asked.options))
  const elapsedMs = performance.now() - startMs
  if (json) stdout.write(`${JSON.stringify({ board: spec.key, ...plan, elapsedMs }, null, 2)}\n`)
  if (!plan.feasible) {
    if (!json) stderr.write(`pctodl-partition: ${plan.message}\n`)
    return 1
  }
  if (!json) stdout.write(`${formatPlan(spec, asked, plan, elapsedMs)}\n`)
  return 0
}

function runOurs(call: PartitionCall, { predictor }: ChosenPredictor, { stdout, stderr }: Terminal): number {
  const options = { ...call.search, models: call.networks }
  // A fresh process reads parameters and compiles code when they are first needed; the search's time is not for that.
  // Options that only the search can judge, such as a memory clock that the model does not know, show here.
  asUsage(() => warmUp(predictor, options))
  const startMs = performance.now()
  const result = partition(predictor, options)
  const elapsedMs = performance.now() - startMs
  if (call.json) {
    const verify = result.feasible ? verificationCommand(call.spec, result.configuration) : null
    stdout.write(`${JSON.stringify({ board: call.spec.key, ...result, elapsedMs, verify }, null, 2)}\n`)
  }
  if (!result.feasible) {
    if (!call.json) stderr.write(`pctodl-partition: ${result.message}\n`)
    return 1
  }
  if (!call.json) {
    if (call.explain) stdout.write(`${formatSteps(result.steps)}\n\n`)
    stdout.write(`${formatPartition(call, result, elapsedMs)}\n`)
  }
  return 0
}

/** The greedy stage, its result unused. */
function warmUp(predictor: Predictor, options: PartitionOptions): void {
  const { timeBudgetMs: _, now: __, ...untimed } = options
  partition(predictor, { ...untimed, improve: false })
}

function runPublished(
  call: PartitionCall,
  { predictor, modelAt }: ChosenPredictor,
  { stdout, stderr }: Terminal,
): number {
  const { powerCapW, sharePercentStep, maxTenants, maxSharePercent, maxBatchSize, memClocksMhz } = call.search
  const memClocks = memClocksMhz ?? predictor.memClocksMhz
  const search = {
    model: call.networks[0]!.model,
    powerCapW,
    smClocksMhz: smClocksAt(call.spec, predictor.memClocksMhz[0]!)!,
    memClocksMhz: memClocks,
    variant: call.published!,
    ...(sharePercentStep === undefined ? {} : { sharePercentStep }),
    ...(maxTenants === undefined ? {} : { maxTenants }),
    ...(maxSharePercent === undefined ? {} : { maxSharePercent }),
    ...(maxBatchSize === undefined ? {} : { maxTotalBatch: maxBatchSize }),
  }
  const startMs = performance.now()
  const result = asUsage(() => publishedSearch(modelAt, search))
  const elapsedMs = performance.now() - startMs
  if (call.json) stdout.write(`${JSON.stringify({ board: call.spec.key, ...result, elapsedMs }, null, 2)}\n`)
  else {
    if (call.explain) stdout.write(`${formatPublishedSteps(result)}\n\n`)
    stdout.write(`${formatPublished(call, result, elapsedMs)}\n`)
  }
  if (result.tenants.length > 0) return 0
  stderr.write(`pctodl-partition: the published search finds no tenant that keeps ${powerCapW} W\n`)
  return 1
}
