import type { CommandFunction } from '@pctodl/command-line'
import { plan } from './plan-command.js'

const subcommands: Readonly<Record<string, CommandFunction>> = { plan }

/** The command line `pctodl-hetero` as a function. Without a subcommand it plans, with the published options. */
export const pctodlHetero: CommandFunction = async (argv, terminal) => {
  const subcommand = argv[0] === undefined ? undefined : subcommands[argv[0]]
  return subcommand ? subcommand(argv.slice(1), terminal) : plan(argv, terminal)
}
