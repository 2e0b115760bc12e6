/**
 * Returns a text as one word of a shell of Linux or Windows. Links come from others, and people paste the commands that
 * the page shows. Signs that a shell would expand even in double quotes become `?`.
 */
export function shellWord(text: string): string {
  return /^[\w./:=,@+-]+$/.test(text) ? text : `"${text.replaceAll(/["“”„$`\\%!\p{C}\p{Zl}\p{Zp}]/gu, '?')}"`
}
