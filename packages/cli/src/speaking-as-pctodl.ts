import type { Terminal, TextOutput } from '@pctodl/command-line'

/** The two programs beside `pctodl`, by their names here. */
const nameHere = new Map([
  ['bench-runner', 'pctodl bench'],
  ['pctodld', 'pctodl node'],
])
/** Whole names only: `@pctodl/bench-runner` is a package. */
const binaryNames = new RegExp(`(?<![\\w/.@-])(?:${[...nameHere.keys()].join('|')})(?![\\w/-])`, 'g')

/**
 * A terminal on which the programs of other packages call themselves by the names that they have here: who installed `pctodl` has no
 * `pctodld` on PATH. What is meant for programs (`--json`) is not reworded, nor are files.
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

/** The names of binaries in a text, replaced by those of `pctodl`'s commands. */
export function rewordedText(text: string): string {
  return text.replace(binaryNames, (binary) => nameHere.get(binary)!)
}

/** The same output with another `write`: whether it is a terminal, and how wide, is still asked of the original. */
function reworded(output: TextOutput): TextOutput {
  const write = (text: string) => output.write(rewordedText(text))
  return Object.create(output, { write: { value: write } })
}
