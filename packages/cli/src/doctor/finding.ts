/** `ok`: works. `absent`: not on this machine, which may be intended. `broken`: present, but does not work. */
export type Verdict = 'ok' | 'absent' | 'broken'

/** Result of one check. */
export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  /** Description of what was found, with versions, names and reasons. */
  readonly detail: string
  /** What the user can do, and what it enables; null if there is nothing to do. */
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
