import { type CommandFunction, exitCodeOf, newCommand, parseCommand, type Terminal } from '@pctodl/command-line'
import { commandNamed, commands } from './command-table.js'
import { candidatesFor } from './completion/candidates.js'
import { overview, overviewFor } from './overview.js'
import { speakingAsPctodl } from './speaking-as-pctodl.js'

/**
 * The command line `pctodl` as a function. The first word selects a command, whose package is then loaded; the command
 * gets the other words unchanged.
 */
export const pctodl: CommandFunction = async (argv, terminal) => {
  const answer = overviewFor(argv)
  if (answer !== undefined) {
    terminal.stdout.write(answer)
    return 0
  }
  const [name, ...words] = argv
  if (name === undefined) {
    terminal.stderr.write(overview())
    return 2
  }
  // The completion scripts call `pctodl complete -- <words so far>`.
  if (name === 'complete' && words[0] === '--') {
    const candidates = await candidatesFor(words.slice(1), terminal)
    terminal.stdout.write(candidates.map((candidate) => `${candidate}\n`).join(''))
    return 0
  }
  if (name === 'help' && words.length === 1) return runNamed(words[0]!, ['--help'], terminal)
  return runNamed(name, words, terminal)
}

async function runNamed(name: string, words: readonly string[], terminal: Terminal): Promise<number> {
  const entry = commandNamed(name)
  if (entry === undefined) return refuse(name, terminal)
  return exitCodeOf(`pctodl ${name}`, await entry.load(), words, speakingAsPctodl(words, terminal))
}

/** @throws UsageError with a suggestion */
async function refuse(name: string, terminal: Terminal): Promise<never> {
  const program = newCommand({ name: 'pctodl', description: '', example: '' }, terminal)
  for (const known of commands) program.command(known.name)
  await parseCommand(program, [name])
  throw new Error(`'${name}' is a command`)
}
