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

/** The pnpm that the repository is pinned to, kept in the clone. */
export const pnpmVersion = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).packageManager.split(
  '@',
)[1]

const tools = path.join(root, '.tools')
const home = path.join(tools, `pnpm-${pnpmVersion}`)

/** The home of who has none that can be written. */
export const spareHome = path.join(tools, 'home')

/** The folder of its program, for PATH. */
export const pnpmBin = path.join(home, 'node_modules', '.bin')
/** The same program, for `node`. */
export const pnpmProgram = path.join(home, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')

/**
 * Put the pinned pnpm into the clone, unless it is there. What is there is whole: it is fetched beside its place and moved
 * there when it is complete, so that an interrupted fetch leaves nothing that the next run would take for pnpm.
 *
 * @param {(folder: string) => Promise<void>} fetch installs `pnpm@<pnpmVersion>` into a folder; rejects where it cannot
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
    // Two commands at once: the other one was faster.
    if (!existsSync(home)) throw error
  }
  // Whoever still fetches will find that it is here already.
  for (const name of readdirSync(tools)) {
    if (name.startsWith('pnpm-') && name !== path.basename(home))
      rmSync(path.join(tools, name), { recursive: true, force: true })
  }
}
