import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

/** Version of pnpm that the repository requires; it is installed into the clone. */
export const pnpmVersion = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).packageManager.split(
  '@',
)[1]

const tools = path.join(root, '.tools')
const home = path.join(tools, `pnpm-${pnpmVersion}`)

/** Home folder for users who have no writable home. */
export const spareHome = path.join(tools, 'home')

/** Folder of pnpm's program, for PATH. */
export const pnpmBin = path.join(home, 'node_modules', '.bin')
/** Path of pnpm's program, to run with `node`. */
export const pnpmProgram = path.join(home, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')

/**
 * Installs the required pnpm into the clone unless it is there. It is installed into a temporary folder that is renamed
 * when complete, so that the next run cannot mistake an interrupted installation for pnpm.
 *
 * @param {(folder: string) => Promise<void>} fetch installs `pnpm@<pnpmVersion>` into a folder; rejects on failure
 */
export async function bringPnpm(fetch) {
  if (existsSync(home)) return
  mkdirSync(tools, { recursive: true })
  const unfinished = mkdtempSync(`${home}.unfinished-`)
  try {
    writeFileSync(path.join(unfinished, 'package.json'), '{ "private": true }\n')
    await fetch(unfinished)
    renameSync(unfinished, home)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    // The rename also fails if another command has installed pnpm in the meantime.
    if (!existsSync(home)) throw error
  }
  // Removes other versions and unfinished installations. A command that is still installing will find that pnpm is
  // already there.
  for (const name of readdirSync(tools)) {
    if (name.startsWith('pnpm-') && name !== path.basename(home))
      rmSync(path.join(tools, name), { recursive: true, force: true })
  }
}
