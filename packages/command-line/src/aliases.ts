import { linesOf } from './lines-of.js'

/**
 * Alternative spellings of options. For example, `{ '--p_cap': '--power-cap' }` accepts `--p_cap`, as in PctoDL's
 * Python scripts.
 */
export type OptionAliases = Readonly<Record<string, string>>

/**
 * Replaces alternative spellings of options in a call, also in the form `--p_cap=150`. Words after `--` are unchanged,
 * because they belong to another command.
 */
export function inOurSpelling(argv: readonly string[], aliases: OptionAliases): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, i) => {
    const [name = '', ...value] = word.split('=')
    const ours = i < end && Object.hasOwn(aliases, name) ? aliases[name]! : name
    return [ours, ...value].join('=')
  })
}

/** Text for `--help` that lists the alternative spellings. */
export function aliasesText(aliases: OptionAliases): string {
  const pairs = Object.entries(aliases).map(([theirs, ours]) => `${ours} as ${theirs}`)
  return `\nAlso accepted:\n  ${linesOf(pairs, ', ', ',\n  ')}.\n`
}
