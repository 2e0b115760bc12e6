import { type CommandFunction, UsageError } from '@pctodl/command-line'
import { version } from '../../package.json'
import { evaluateCommand } from './evaluate-command.js'
import { pairCommand } from './pair-command.js'
import { predictCommand } from './predict-command.js'

const subcommands: Readonly<Record<string, CommandFunction>> = {
  predict: predictCommand,
  pair: pairCommand,
  evaluate: evaluateCommand,
}

const help = `Usage: pctodl-colocate <command> [options]

Predict how jobs slow each other down on one GPU, and choose who shares.

Commands:
  predict    throughput of each member of a colocation, with intervals
  pair       the best company for a workload, or the best groups of a pool
  evaluate   errors and choices of models and rules on the splits of a study

Options:
  --version  print the version
  --help     show this help; after a command, the help of that command

Example:
  pctodl-colocate predict --study ./measured --members resnet50_batch8-inf,vgg19_batch4-inf
`

/** The command line `pctodl-colocate` as a function. */
export const pctodlColocate: CommandFunction = async (argv, terminal) => {
  const [name, ...rest] = argv
  if (name === '--help' || name === 'help') {
    terminal.stdout.write(help)
    return 0
  }
  if (name === '--version') {
    terminal.stdout.write(`${version}\n`)
    return 0
  }
  const subcommand = name === undefined ? undefined : Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
  if (!subcommand) {
    throw new UsageError(
      `${name === undefined ? 'no command' : `unknown command '${name}'`}; expected ${Object.keys(subcommands).join(', ')}`,
    )
  }
  return subcommand(rest, terminal)
}
