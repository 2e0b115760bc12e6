import { BatchDvfsPolicy, DirectCapPolicy, MorakPolicy, PowerCapOnlyPolicy } from '@pctodl/baselines'
import { networkName, UnknownNameError } from '@pctodl/platform'
import { PctodlPolicy, type PowerCapPolicy, planPartition } from '@pctodl/scheduler'
import { predictorOf } from './predictors.js'
import type { BenchTask } from './tasks.js'

/** The algorithms of the matrix, in the order in which they run and are reported. */
export const algorithmNames = ['pctodl', 'morak', 'batchdvfs', 'directcap', 'powercap'] as const

export type AlgorithmName = (typeof algorithmNames)[number]

/** A policy with what it could not do on its board, in words. */
export type NotedPolicy = PowerCapPolicy & { readonly notes?: readonly string[] }

export interface PolicyOptions {
  /** Plans stay this far below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /** Let pctodl keep looking for better tenants while it runs. Default false, as in the published runs of the matrix. */
  readonly shadow?: boolean
  /** Predictor parameters. Default: the shipped ones. */
  readonly parametersFolder?: string
}

/** A fresh policy for one run of one task. */
export function createPolicy(name: AlgorithmName, task: BenchTask, options: PolicyOptions = {}): NotedPolicy {
  const predictor = predictorOf(task.board, options.parametersFolder)
  const { spec } = predictor
  const model = networkName(task.model)
  const { powerMarginW = 0, shadow = false } = options
  switch (name) {
    case 'pctodl':
      return new PctodlPolicy({ predictor, model, powerMarginW, ...(shadow ? {} : { shadow }) })
    case 'morak':
      return new MorakPolicy({ spec, model })
    case 'batchdvfs':
      return new BatchDvfsPolicy({ spec, model })
    case 'directcap':
      return new DirectCapPolicy({
        spec,
        model,
        plan: (powerCapW) => planPartition(predictor, { model, powerCapW, powerMarginW }),
      })
    case 'powercap':
      return new PowerCapOnlyPolicy({ spec, model })
  }
}

/**
 * One name, a comma list, or `all`; in the order given, each once.
 *
 * @throws UnknownNameError listing the algorithms that exist
 */
export function parseAlgorithms(text: string): AlgorithmName[] {
  if (text === 'all') return [...algorithmNames]
  const names = text.split(',').map((name) => {
    const known = algorithmNames.find((candidate) => candidate === name.trim())
    if (!known) throw new UnknownNameError('algorithm', name.trim(), [...algorithmNames, 'all'])
    return known
  })
  return [...new Set(names)]
}
