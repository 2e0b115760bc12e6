import { type CommandFunction, commandOfCommands } from '@pctodl/command-line'
import { version } from '../../package.json'
import { collect } from './collect-command.js'
import { compare } from './compare-command.js'
import { launch } from './launch-command.js'
import { plan } from './plan-command.js'

/** `pctodl hetero` as a function. */
export const pctodlHetero: CommandFunction = commandOfCommands(
  {
    name: 'pctodl hetero',
    version,
    description: 'Train one job on unequal GPUs: measure them, split the batch, run the plan, compare the result.',
    example: 'pctodl hetero plan --gpu a10=a10.json --gpu t4=t4.json --batch 2048',
  },
  {
    plan: { summary: 'split a global batch and choose the power limits with the least cost', run: plan },
    collect: { summary: 'measure a GPU over batch sizes, power limits and SM clocks', run: collect },
    launch: { summary: 'start a training command with the shares and power limits of a plan', run: launch },
    compare: { summary: "compare measured step times with the plan's prediction", run: compare },
  },
)
