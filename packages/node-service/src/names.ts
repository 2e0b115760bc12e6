import { execFile } from 'node:child_process'
import { cleanEnvironment } from '@pctodl/nvml-control'

type Database = 'passwd' | 'group'

/** The number of a user or a group; undefined where nobody knows it (yet). */
export type IdOf = (database: Database, name: string) => number | undefined

/** How often a name that nobody knew is asked for again, ms: the directory may have been away, or the user be new. */
const AGAIN_MS = 10_000

/** Resolves user and group names through the system's databases (files, LDAP, ...). Lookups are asynchronous: a directory may be slow. */
export class Names {
  readonly #ids = new Map<string, number>()
  readonly #asked = new Map<string, Promise<void>>()
  readonly #onFound: () => void

  /** @param onFound told when a name that was not known is */
  constructor(onFound: () => void = () => {}) {
    this.#onFound = onFound
  }

  readonly idOf: IdOf = (database, name) => {
    const key = `${database}:${name}`
    const id = this.#ids.get(key)
    if (!this.#asked.has(key)) this.#asked.set(key, this.#ask(database, name))
    return id
  }

  /** Until all that was asked for so far is answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#asked.values())
  }

  #ask(database: Database, name: string): Promise<void> {
    return new Promise((resolve) => {
      execFile('getent', [database, name], { env: cleanEnvironment(), timeout: 10_000 }, (error, stdout) => {
        const id = error ? Number.NaN : Number(stdout.split(':')[2] || Number.NaN)
        if (Number.isInteger(id)) {
          this.#ids.set(`${database}:${name}`, id)
          this.#onFound()
        } else setTimeout(() => void this.#ask(database, name), AGAIN_MS).unref()
        resolve()
      })
    })
  }
}
