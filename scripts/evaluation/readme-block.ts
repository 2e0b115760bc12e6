import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Replaces the text between the comments `<!-- <name> begin -->` and `<!-- <name> end -->` of a page.
 *
 * @throws Error if the page lacks them
 */
export function writeReadmeBlock(file: string, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name} begin -->`, `<!-- ${name} end -->`]
  const [before, rest] = readFileSync(file, 'utf8').split(begin)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`${file} has no place for the table: ${begin} ... ${end}`)
  writeFileSync(file, `${before}${begin}\n\n${text}\n\n${end}${after}`)
}
