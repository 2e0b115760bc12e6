import { existsSync } from 'node:fs'
import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import { replan, startReplanning } from '../replan.js'
import { prepareJob } from '../training-job.js'
import { clockColumn } from './clock-column.js'
import { type Named, named } from './named-option.js'
import { planDocument } from './plan-document.js'
import { planCallOf, withPlanOptions } from './plan-options.js'
import { refuseGiven } from './refuse-given.js'
import { readReplanState, replanStateText } from './replan-file.js'
import { formatTable } from './table.js'

interface RawOptions {
  readonly state: string
  readonly report?: Named<number | null | 'back'>
  readonly leastGain: number
  readonly rounds: number
  readonly json?: boolean
}

/** `pctodl-hetero replan`: what to do after a round of steps. What is believed is kept in a file between calls. */
export const replanCommand: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl-hetero replan',
      description:
        'Say whether running shares should change, given how long each GPU computed in a step. The first call takes the options of\n' +
        'pctodl-hetero and makes the state; each further one takes --report for each GPU that has a share.',
      example: 'pctodl-hetero replan --state run.json --report a10=0.21 --report t4=gone --json',
    },
    terminal,
  )
  withPlanOptions(command)
    .requiredOption('--state <file>', 'what is believed and in force; made by the first call')
    .option(
      '--report <name=s>',
      'mean seconds that a GPU computed in a step, waiting not included; gone, or back for one without a share; repeat it',
      named((value) => (value === 'gone' ? null : value === 'back' ? value : positiveNumber('s')(value))),
    )
    .option('--least-gain <part>', 'least saving of cost for which shares change, 0..1', numberBetween(0, 0.999), 0.05)
    .option('--rounds <n>', 'rounds in a row that must promise it', integerFrom(1), 3)
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  if (!existsSync(raw.state)) {
    if (raw.report !== undefined)
      throw new UsageError(`--report: there is no ${raw.state} yet; make it without reports`)
    refuseGiven(command, ['pareto', 'datasetSize', 'leastGain', 'rounds'], 'of no use before there are reports')
    const call = planCallOf(command)
    if (call.published !== null) throw new UsageError('--method: only synchronous plans are planned anew')
    asUsage(() => prepareJob(call.job))
    const state = startReplanning(call.job, call.budgets)
    writeFileAtomically(raw.state, replanStateText(state))
    terminal.stdout.write(formatted(state, 'begin', null, raw.json === true))
    return 0
  }
  if (raw.report === undefined)
    throw new UsageError(`--report: give one for each GPU, or another --state: ${raw.state} is there`)
  const heeded = ['state', 'report', 'leastGain', 'rounds', 'json']
  const others = command.options.map((option) => option.attributeName()).filter((name) => !heeded.includes(name))
  refuseGiven(command, others, `the job is that of ${raw.state}; leave it out, or take another --state`)
  const before = asUsage(() => readReplanState(raw.state))
  const reports = [...raw.report].map(([name, timeS]) => ({ name, timeS }))
  const { state, action, gain } = replanned(before, reports, { leastGain: raw.leastGain, rounds: raw.rounds })
  writeFileAtomically(raw.state, replanStateText(state))
  terminal.stdout.write(formatted(state, action, gain, raw.json === true))
  return 0
}

/** Reports that make no sense are errors of usage; budgets that nothing keeps any more are not. */
function replanned(...args: Parameters<typeof replan>): ReturnType<typeof replan> {
  try {
    return replan(...args)
  } catch (error) {
    if (error instanceof InvalidInputError) throw new UsageError(error.message)
    throw error
  }
}

function formatted(
  { job, budgets, plan, slowdowns }: ReturnType<typeof startReplanning>,
  action: 'begin' | 'keep' | 'change',
  gain: number | null,
  json: boolean,
): string {
  if (json) {
    const call = { job, budgets, published: null, datasetSize: null, paretoFile: null, json }
    const none = {
      lowerBound: null,
      warnings: [],
      clockReasons: [],
      published: null,
      compared: new Map(),
      front: null,
      searchMs: 0,
    }
    // Infinite where a GPU has dropped out, which JSON cannot say.
    const saving = gain !== null && Number.isFinite(gain) ? gain : null
    const document = {
      ...planDocument(call, { plan, ...none }),
      action,
      gain: saving,
      slowdowns: Object.fromEntries(slowdowns),
    }
    return `${JSON.stringify(document, null, 2)}\n`
  }
  const clocks = clockColumn(plan.gpus)
  const rows = plan.gpus.map(({ name, share, powerLimitW, timeS }, i) => [
    name,
    share,
    powerLimitW ?? 'left out',
    ...clocks.cells[i]!,
    timeS.toPrecision(4),
    slowdowns.has(name) ? `${slowdowns.get(name)!.toFixed(3)}x` : 'gone',
  ])
  const promise =
    gain === null ? '' : `: another split would save ${Number.isFinite(gain) ? `${(100 * gain).toFixed(1)} %` : 'all'}`
  return `${action}${promise}\n${formatTable(['GPU', 'share', 'limit W', ...clocks.head, 'computes s', 'believed'], rows)}\n`
}
