import type { CommandFunction } from '@pctodl/command-line'
import { batch } from './batch-command.js'
import { collect } from './collect-command.js'
import { compare } from './compare-command.js'
import { launch } from './launch-command.js'
import { plan } from './plan-command.js'
import { replanCommand } from './replan-command.js'

const subcommands: Readonly<Record<string, CommandFunction>> = {
  plan,
  batch,
  replan: replanCommand,
  collect,
  launch,
  compare,
}

/** The command line `pctodl-hetero` as a function. Without a subcommand it plans, with the published options. */
export const pctodlHetero: CommandFunction = async (argv, terminal) => {
  const subcommand = argv[0] === undefined ? undefined : subcommands[argv[0]]
  return subcommand ? subcommand(argv.slice(1), terminal) : plan(argv, terminal)
}
