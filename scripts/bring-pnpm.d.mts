/** Version of pnpm that the repository requires; it is installed into the clone. */
export const pnpmVersion: string
/** Folder of pnpm's program, for PATH. */
export const pnpmBin: string
/** Path of pnpm's program, to run with `node`. */
export const pnpmProgram: string
/** Installs pnpm into the clone unless it is there. `fetch` installs `pnpm@<pnpmVersion>` into a folder. */
export function bringPnpm(fetch: (folder: string) => Promise<void>): Promise<void>
