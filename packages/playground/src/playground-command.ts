import { type CommandFunction, integerFrom, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { version } from '../package.json'
import { exportPage } from './export-page.js'
import { servePage } from './serve-page.js'

interface RawOptions {
  readonly export?: string
  readonly port?: number
}

/** An arbitrary port that no common service uses by default. */
const DEFAULT_PORT = 8808

/** The command `pctodl playground`: serves the page until the command is aborted. */
export const pctodlPlayground: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl playground',
      version,
      description:
        'Plan, cap and watch simulated boards in a browser: one page that works offline, served to this machine only.',
      example: 'pctodl playground --export site',
    },
    terminal,
  )
    .option('--port <n>', `port on this machine; 0 for any free port (default: ${DEFAULT_PORT})`, integerFrom(0, 65535))
    .option('--export <folder>', 'write the page into this folder instead of serving it')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  if (raw.export !== undefined) {
    if (raw.port !== undefined) throw new UsageError('--port: --export serves nothing; give one of them')
    terminal.stdout.write(`${exportPage(raw.export)}\n`)
    return 0
  }
  const page = await servePage(raw.port ?? DEFAULT_PORT)
  try {
    terminal.stdout.write(`${page.address}\n`)
    terminal.stderr.write('Open this address in a browser; end with Ctrl+C. Nothing is sent anywhere.\n')
    await untilEnded(terminal.signal)
  } finally {
    await page.close()
  }
  return 0
}

/**
 * Waits for the abort signal.
 * @throws the signal's reason, so that the caller knows that the command was aborted
 */
function untilEnded(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
