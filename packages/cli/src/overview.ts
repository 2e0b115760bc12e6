import { version } from '../package.json'
import { commands } from './command-table.js'

/**
 * Returns the text of help or version, for which only the table of commands is loaded.
 *
 * @returns undefined if the call asks for something else
 */
export function overviewFor(argv: readonly string[]): string | undefined {
  if (argv.length !== 1) return undefined
  switch (argv[0]) {
    case '--help':
    case '-h':
    case 'help':
      return overview()
    case '--version':
    case '-V':
      return `${version}\n`
    default:
      return undefined
  }
}

/** Help text with one line per command. */
export function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return `Usage: pctodl <command> [options]

Many inference processes on one NVIDIA GPU under a power cap: predict,
partition, control, compare.
No GPU is needed: boards can be simulated.

Commands:
${lines.join('\n')}

Options:
  --version  print the version
  --help     show this help; after a command, the help of that command

Example:
  pctodl predict --gpu 3080Ti --model resnet50 --shares 50 25 --batches 16 16
`
}
