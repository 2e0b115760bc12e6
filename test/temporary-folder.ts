import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const PREFIX = 'tests-'
const EVERYONE = 0o1777
const NAMES = ['TMPDIR', 'TEMP', 'TMP']

/**
 * One folder for all temporary files of a run, gone at its end: vitest runs no `afterAll` of a file whose tests are all left out
 * (`-t`, `list`), and libraries and killed programs leave theirs behind. Each project calls this; the first makes the folder.
 */
export default function setup(): (() => void) | undefined {
  if (path.basename(tmpdir()).startsWith(PREFIX)) return
  const before = NAMES.map((name) => [name, process.env[name]] as const)
  const folder = mkdtempSync(path.join(tmpdir(), PREFIX))
  // As /tmp is: some tests have several users.
  chmodSync(folder, EVERYONE)
  for (const name of NAMES) process.env[name] = folder
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
