/** Width of help texts: commander's default if there is no terminal. */
const HELP_COLUMNS = 80

/**
 * Joins parts to lines of at most a help text's width.
 *
 * @param lineBreak replaces `separator` between two lines; it includes the indentation
 */
export function linesOf(parts: readonly string[], separator: string, lineBreak: string): string {
  const [first = '', ...others] = parts
  const room = HELP_COLUMNS - lineBreak.indexOf('\n')
  const indent = lineBreak.length - lineBreak.indexOf('\n') - 1
  let text = first
  let column = indent + first.length
  for (const part of others) {
    const fits = column + separator.length + part.length <= room
    text += `${fits ? separator : lineBreak}${part}`
    column = (fits ? column + separator.length : indent) + part.length
  }
  return text
}
