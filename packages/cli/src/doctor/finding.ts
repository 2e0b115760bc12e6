/** `ok`: works. `absent`: not on this machine, which may be right. `broken`: there, and does not work. */
export type Verdict = 'ok' | 'absent' | 'broken'

/** What was found about one thing. */
export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  /** What is so, with versions, names and reasons. */
  readonly detail: string
  /** What to do about it, and for what; null where there is nothing to do. */
  readonly advice: string | null
}

export function ok(check: string, detail: string): Finding {
  return { check, verdict: 'ok', detail, advice: null }
}

export function absent(check: string, detail: string, advice: string): Finding {
  return { check, verdict: 'absent', detail, advice }
}

export function broken(check: string, detail: string, advice: string): Finding {
  return { check, verdict: 'broken', detail, advice }
}
