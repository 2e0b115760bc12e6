import { type CommandFunction, newCommand, parseCommand, withNvmlOptions } from '@pctodl/command-line'
import { version } from '../../package.json'
import { rewordedText } from '../speaking-as-pctodl.js'
import { type FindLeftoversOptions, findLeftovers } from './find-leftovers.js'
import type { Leftover } from './leftover.js'

interface CleanupOptions extends FindLeftoversOptions {
  readonly dryRun?: boolean
  readonly json?: boolean
}

interface Outcome extends Pick<Leftover, 'kind' | 'what'> {
  readonly outcome: 'found' | 'removed' | 'failed'
  readonly detail: string
}

/**
 * The command `pctodl cleanup`.
 *
 * @returns 1 if something could not be removed
 */
export const cleanup: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl cleanup',
      version,
      description:
        'Remove what your crashed runs left behind: inference workers, the MPS daemon, changed boards. ' +
        'Processes in use and those of other users are not touched.',
      example: 'pctodl cleanup --dry-run',
    },
    terminal,
  )
    .option('--dry-run', 'print the planned steps, and do nothing')
    .option('--mps-dir <folder>', 'folder of the MPS daemons (default: $PCTODL_MPS_DIR, or one in a runtime folder)')
  withNvmlOptions(command).option('--json', 'print JSON')
  await parseCommand(command, argv)
  const { dryRun = false, json, ...options } = command.opts<CleanupOptions>()
  const { leftovers, leftAlone } = await findLeftovers(options)
  const outcomes: Outcome[] = []
  for (const leftover of leftovers) {
    terminal.signal.throwIfAborted()
    outcomes.push(
      dryRun ? { ...named(leftover), outcome: 'found', detail: 'found, nothing done' } : await removed(leftover),
    )
  }
  if (json) terminal.stdout.write(`${JSON.stringify({ outcomes, leftAlone }, null, 2)}\n`)
  else {
    for (const { what, detail } of outcomes) terminal.stdout.write(`${what}: ${detail}\n`)
    for (const { what, why } of leftAlone) terminal.stdout.write(`left alone: ${what}: ${why}\n`)
    if (outcomes.length === 0) terminal.stdout.write('nothing was left behind\n')
  }
  return outcomes.some(({ outcome }) => outcome === 'failed') ? 1 : 0
}

/** If one removal fails, the failure is reported and the other leftovers are still removed. */
async function removed(leftover: Leftover): Promise<Outcome> {
  try {
    return { ...named(leftover), outcome: 'removed', detail: await leftover.remove() }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ...named(leftover), outcome: 'failed', detail: `NOT removed: ${rewordedText(reason)}` }
  }
}

function named({ kind, what }: Leftover): Pick<Leftover, 'kind' | 'what'> {
  return { kind, what }
}
