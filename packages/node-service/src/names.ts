import { execFile } from 'node:child_process'
import { cleanEnvironment } from '@pctodl/nvml-control'

type Database = 'passwd' | 'group'

export type IdOf = (database: Database, name: string) => number | undefined

/** Time after which an unknown name is looked up again, ms. The user may be new, or the directory unavailable. */
const AGAIN_MS = 10_000

/** Finds the ids of users and groups. A directory such as LDAP may be slow, so look-ups do not block. */
export class Names {
  readonly #ids = new Map<string, number>()
  readonly #asked = new Map<string, Promise<void>>()
  readonly #onFound: () => void

  constructor(onFound: () => void = () => {}) {
    this.#onFound = onFound
  }

  readonly idOf: IdOf = (database, name) => {
    const key = `${database}:${name}`
    if (!this.#asked.has(key)) this.#asked.set(key, this.#ask(database, name))
    return this.#ids.get(key)
  }

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
