import { linesOf } from './lines-of.js'

/** Other spellings of options, as the Python code's scripts have them: `{ '--p_cap': '--power-cap' }`. */
export type OptionAliases = Readonly<Record<string, string>>

/** The words of a call with every option in our spelling, `--p_cap=150` too. What stands behind `--` is another command's. */
export function inOurSpelling(argv: readonly string[], aliases: OptionAliases): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, i) => {
    const [name = '', ...value] = word.split('=')
    const ours = i < end && Object.hasOwn(aliases, name) ? aliases[name]! : name
    return [ours, ...value].join('=')
  })
}

/** What `--help` says of them. */
export function aliasesText(aliases: OptionAliases): string {
  const pairs = Object.entries(aliases).map(([theirs, ours]) => `${ours} as ${theirs}`)
  return `\nUnderstood, too:\n  ${linesOf(pairs, ', ', ',\n  ')}.\n`
}
