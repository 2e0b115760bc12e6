import { type CommandFunction, UsageError } from '@pctodl/command-line'
import { version } from '../../package.json'
import { collect } from './collect-command.js'
import { compare } from './compare-command.js'
import { launch } from './launch-command.js'
import { plan } from './plan-command.js'

const verbs: Readonly<Record<string, CommandFunction>> = { plan, collect, launch, compare }

const help = `Usage: pctodl-hetero <command> [options]

One training job over unequal GPUs: measure them, split the batch, carry the plan out, see what it took.

Commands:
  plan       the split of a global batch and the power limits that cost least
  collect    measure a GPU over batch sizes, power limits and SM clocks
  launch     start a training command on the shares of a plan, under its limits
  compare    what runs took for a step, beside what their plan promised

Options:
  --version  print the version
  --help     show this help; after a command, the help of that command

Example:
  pctodl-hetero plan --gpu a10=a10.json --gpu t4=t4.json --batch 2048
`

/** The command line `pctodl-hetero` as a function. */
export const pctodlHetero: CommandFunction = async (argv, terminal) => {
  const [name, ...rest] = argv
  if (name === '--help' || name === 'help' || name === '--version') {
    terminal.stdout.write(name === '--version' ? `${version}\n` : help)
    return 0
  }
  if (name !== undefined && Object.hasOwn(verbs, name)) return verbs[name]!(rest, terminal)
  throw new UsageError(
    `${name === undefined ? 'no command' : `unknown command '${name}'`}; expected ${Object.keys(verbs).join(', ')}`,
  )
}
