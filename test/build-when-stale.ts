import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { pnpmBin } from '../scripts/bring-pnpm.mjs'

const root = path.dirname(import.meta.dirname)

/**
 * Before tests that start programs: some are built commands, which must be of these sources. Turbo knows what has changed since they
 * were built, and builds that. Where nothing was built yet, nothing is.
 */
export default function buildWhenStale(): void {
  if (process.env['PCTODL_BUILT'] || !existsSync(path.join(root, 'packages', 'cli', 'dist'))) return
  const turbo = path.join(root, 'node_modules', 'turbo', 'bin', 'turbo')
  const { status, stdout, stderr } = spawnSync(process.execPath, [turbo, 'run', 'build', '--output-logs=errors-only'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${pnpmBin}${path.delimiter}${process.env['PATH']}`, TURBO_TELEMETRY_DISABLED: '1' },
  })
  if (status !== 0) {
    // Vitest cannot print an error of a module that it took from its cache.
    console.error(`${stdout}${stderr}`)
    throw new Error('commands that tests start could not be built')
  }
  // Two projects of one run ask for it.
  process.env['PCTODL_BUILT'] = '1'
}
