/** Returns a text as one word of a shell. Links come from others, and people paste the commands that the page shows. */
export function shellWord(text: string): string {
  return /^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
