import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Put text between a page's comments `<!-- <name> begin -->` and `<!-- <name> end -->`.
 *
 * @throws Error where the page has none of them
 */
export function writeReadmeBlock(file: string, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name} begin -->`, `<!-- ${name} end -->`]
  const [before, rest] = readFileSync(file, 'utf8').split(begin)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`${file} has no place for the table: ${begin} ... ${end}`)
  writeFileSync(file, `${before}${begin}\n\n${text}\n\n${end}${after}`)
}
