/** The pnpm that the repository is pinned to, kept in the clone. */
export const pnpmVersion: string
/** The folder of its program, for PATH. */
export const pnpmBin: string
/** The same program, for `node`. */
export const pnpmProgram: string
/** Put it into the clone, unless it is there; `fetch` installs `pnpm@<pnpmVersion>` into a folder. */
export function bringPnpm(fetch: (folder: string) => Promise<void>): Promise<void>
