import {
  asUsage,
  type CommandFunction,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import { type ChosenBatch, type Convergence, chooseGlobalBatch, fitConvergence } from '../choose-batch.js'
import { prepareJob } from '../training-job.js'
import { type Named, named } from './named-option.js'
import { ours } from './plan-command.js'
import { planDocument } from './plan-document.js'
import { planCallOf, withPlanOptions } from './plan-options.js'
import { formatAnswer } from './plan-report.js'
import { refuseGiven } from './refuse-given.js'
import { formatTable } from './table.js'

interface RawOptions {
  readonly batches: number[]
  readonly finished?: Named<number>
  readonly leastSteps?: number
  readonly noiseScale?: number
}

/** `pctodl-hetero batch`: the global batch that reaches an accuracy for the least cost. */
export const batch: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl-hetero batch',
      description:
        'Choose the global batch, with its split and limits, that reaches an accuracy for the least cost (by --eta: time, energy or both).\n' +
        'How many steps a batch takes is learned from finished runs of two batches or more, or told.',
      example:
        'pctodl-hetero batch --gpu a10=a10.json --gpu t4=t4.json --batches 256,512,1024 --finished 256=9000 --finished 1024=4200 --eta 1',
    },
    terminal,
  )
  withPlanOptions(command)
    .requiredOption('--batches <samples>', 'global batches to choose from', listOf(integerFrom(1, 2 ** 20)))
    .option(
      '--finished <batch=steps>',
      'a run of so many samples a step that took so many steps to the accuracy; repeat it',
      named(positiveNumber('steps')),
    )
    .option('--least-steps <n>', 'steps that even the largest batch needs, in place of runs', positiveNumber('steps'))
    .option('--noise-scale <samples>', 'the gradient noise scale, in place of runs', numberBetween(0, 1e12))
  await parseCommand(command, argv)
  refuseGiven(command, ['batch', 'method', 'pareto', 'datasetSize'], 'of no use here; leave it out')
  const raw = command.opts<RawOptions>()
  const call = planCallOf(command)
  const convergence = asUsage(() => convergenceOf(raw))
  // A bad job is the caller's; an infeasible budget is an answer.
  asUsage(() => prepareJob({ ...call.job, globalBatch: raw.batches[0]! }))
  if (call.job.gpus.some(({ profile }) => profile.unit !== 'step')) {
    throw new UsageError(
      'the traces count in windows; the steps to an accuracy need traces in steps, as collect writes',
    )
  }
  const chosen = chooseGlobalBatch(call.job, raw.batches, convergence, call.budgets)
  const itsCall = { ...call, job: { ...call.job, globalBatch: chosen.globalBatch } }
  const answer = ours(itsCall)
  for (const warning of answer.warnings) terminal.stderr.write(`pctodl-hetero: warning: ${warning}\n`)
  const choices = chosen.choices.map(({ plan: _, ...choice }) => choice)
  terminal.stdout.write(
    call.json
      ? `${JSON.stringify({ ...planDocument(itsCall, answer), convergence, choices }, null, 2)}\n`
      : `${formatChoices(chosen, convergence)}\n\n${formatAnswer(itsCall, answer)}\n`,
  )
  return 0
}

function convergenceOf({ finished, leastSteps, noiseScale }: RawOptions): Convergence {
  if (finished !== undefined) {
    if (leastSteps !== undefined || noiseScale !== undefined) {
      throw new UsageError('--finished tells --least-steps and --noise-scale; give one kind')
    }
    return fitConvergence([...finished].map(([globalBatch, steps]) => ({ globalBatch: Number(globalBatch), steps })))
  }
  if (leastSteps === undefined || noiseScale === undefined) {
    throw new UsageError('give --finished for two batches or more, or --least-steps and --noise-scale')
  }
  return { leastSteps, noiseScale }
}

function formatChoices(chosen: ChosenBatch, { leastSteps, noiseScale }: Convergence): string {
  const rows = chosen.choices.map(({ globalBatch, steps, timeS, energyJ, cost }) => [
    `${globalBatch}${globalBatch === chosen.globalBatch ? ' <' : ''}`,
    steps.toFixed(0),
    timeS.toPrecision(4),
    energyJ.toPrecision(4),
    `${(100 * (cost / chosen.cost - 1)).toFixed(1)} %`,
  ])
  return (
    `${formatTable(['batch', 'steps', 'time s', 'energy J', 'cost above the best'], rows)}\n` +
    `to the accuracy: at least ${leastSteps.toFixed(0)} steps, noise scale ${noiseScale.toFixed(0)} samples`
  )
}
