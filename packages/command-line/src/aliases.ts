import { linesOf } from './lines-of.js'

/** Alternative spellings of options, as in the Python code's scripts: `{ '--p_cap': '--power-cap' }`. */
export type OptionAliases = Readonly<Record<string, string>>

/**
 * Translate every option of a call to our spelling, including `--p_cap=150`. Words after `--` belong to another
 * command.
 */
export function inOurSpelling(argv: readonly string[], aliases: OptionAliases): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, i) => {
    const [name = '', ...value] = word.split('=')
    const ours = i < end && Object.hasOwn(aliases, name) ? aliases[name]! : name
    return [ours, ...value].join('=')
  })
}

/** Text of `--help` on them. */
export function aliasesText(aliases: OptionAliases): string {
  const pairs = Object.entries(aliases).map(([theirs, ours]) => `${ours} as ${theirs}`)
  return `\nAlso accepted:\n  ${linesOf(pairs, ', ', ',\n  ')}.\n`
}
