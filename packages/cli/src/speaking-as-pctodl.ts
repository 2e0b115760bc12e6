import type { Terminal, TextOutput } from '@pctodl/command-line'

/** The two programs besides `pctodl`, with their names here. */
const nameHere = new Map([
  ['bench-runner', 'pctodl bench'],
  ['pctodld', 'pctodl node'],
])
/** Whole names only: `@pctodl/bench-runner` is a package. */
const binaryNames = new RegExp(`(?<![\\w/.@-])(?:${[...nameHere.keys()].join('|')})(?![\\w/-])`, 'g')

/**
 * A terminal on which programs of other packages use the names that they have here: with only `pctodl` installed, there
 * is no `pctodld` on PATH. Output for programs (`--json`) and files are not changed.
 */
export function speakingAsPctodl(words: readonly string[], terminal: Terminal): Terminal {
  const end = words.indexOf('--')
  const isForPrograms = (end < 0 ? words : words.slice(0, end)).includes('--json')
  return {
    stdout: isForPrograms ? terminal.stdout : reworded(terminal.stdout),
    stderr: reworded(terminal.stderr),
    signal: terminal.signal,
    env: terminal.env,
  }
}

/** Replace names of binaries in a text by those of `pctodl`'s commands. */
export function rewordedText(text: string): string {
  return text.replace(binaryNames, (binary) => nameHere.get(binary)!)
}

/** The same output with another `write`; terminal properties are those of the original. */
function reworded(output: TextOutput): TextOutput {
  const write = (text: string) => output.write(rewordedText(text))
  return Object.create(output, { write: { value: write } })
}
