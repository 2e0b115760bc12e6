import type { Terminal, TextOutput } from '@pctodl/command-line'

/** The two other programs, with the `pctodl` commands that replace them. */
const nameHere = new Map([
  ['bench-runner', 'pctodl bench'],
  ['pctodld', 'pctodl node'],
])
/** Matches whole names only, because `@pctodl/bench-runner` is a package. */
const binaryNames = new RegExp(`(?<![\\w/.@-])(?:${[...nameHere.keys()].join('|')})(?![\\w/-])`, 'g')

/**
 * Returns a terminal that replaces the names of other binaries by `pctodl`'s commands in messages. If only `pctodl` is
 * installed, the other names, such as `pctodld`, are not on PATH. JSON output (`--json`) and files are not changed.
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

/** Replaces names of binaries in a text by `pctodl`'s commands. */
export function rewordedText(text: string): string {
  return text.replace(binaryNames, (binary) => nameHere.get(binary)!)
}

/** Wraps an output so that `write` replaces the names; its other properties stay. */
function reworded(output: TextOutput): TextOutput {
  const write = (text: string) => output.write(rewordedText(text))
  return Object.create(output, { write: { value: write } })
}
