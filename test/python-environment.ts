import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

/**
 * An interpreter that can import what a test of real Python clients needs: the one that PCTODL_PYTHON names, or an
 * environment in the user's cache, made at first use and kept for the next. Undefined, with a warning that says what is
 * missing, where neither can be had (no Python, no package index).
 *
 * @param packages exact requirements, e.g. `onnx==1.23.2`
 * @param modules what they are imported as
 * @param interpreter that the environment is made with
 */
export function pythonWith(
  packages: readonly string[],
  modules: readonly string[],
  interpreter = 'python3',
): string | undefined {
  const importable = (python: string) => spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0
  const named = process.env['PCTODL_PYTHON']
  if (named !== undefined && importable(named)) return named
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache')
  const key = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12)
  const folder = path.join(cache, 'pctodl-test-python', key)
  const python = path.join(folder, 'bin', 'python')
  if (existsSync(python) && importable(python)) return python
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  mkdirSync(path.dirname(folder), { recursive: true })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '0', ...packages]
  const made =
    spawnSync(interpreter, ['-m', 'venv', folder]).status === 0 &&
    spawnSync(python, pip, { timeout: 300_000 }).status === 0 &&
    importable(python)
  if (made) return python
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  console.warn(
    `skipping tests that need Python with ${packages.join(', ')}: it could not be installed here; ` +
      'point PCTODL_PYTHON to an interpreter that has it',
  )
  return undefined
}
