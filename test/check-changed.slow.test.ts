import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pnpmBin } from '../scripts/bring-pnpm.mjs'

const repository = path.dirname(import.meta.dirname)
const root = mkdtempSync(path.join(tmpdir(), 'check-changed-'))
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

function write(file: string, text: string): void {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true })
  writeFileSync(path.join(root, file), text)
}

const contract = 'test/contract/near.test.ts'

describe.skipIf(process.platform === 'win32')('pnpm check:changed', () => {
  const vitest = path.join(root, 'vitest.json')

  beforeAll(() => {
    write('packages/a/src/index.ts', 'export const one = 1\n')
    write(contract, "import { one } from '@pctodl/a'\n")
    const { scripts } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'))
    const command = scripts['check:changed'].replace(
      'test/check-changed.ts',
      path.join(repository, 'test/check-changed.ts'),
    )
    write('package.json', JSON.stringify({ scripts: { 'check:changed': command, typecheck: 'node -e 0' } }))
    // Tells its process and its tests, and never ends by itself.
    write(
      'node_modules/vitest/vitest.mjs',
      `import { writeFileSync } from 'node:fs'
       const tests = process.argv.filter((word) => word.endsWith('.test.ts'))
       writeFileSync(${JSON.stringify(vitest)}, JSON.stringify({ pid: process.pid, tests }))
       setInterval(() => {}, 1000)`,
    )
    write('node_modules/.bin/biome', `#!/bin/sh\nprintf '%s\\n' "$@" > ${path.join(root, 'biome.txt')}\n`)
    chmodSync(path.join(root, 'node_modules/.bin/biome'), 0o755)
    symlinkSync(path.join(repository, 'node_modules/tsx'), path.join(root, 'node_modules/tsx'))
    write('.gitignore', 'node_modules\nvitest.json\nbiome.txt\n')
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd: root, stdio: 'ignore' })
    git('init', '--initial-branch=main')
    git('add', '.')
    git('commit', '--message', 'all')
    write('packages/a/src/index.ts', 'export const one = 2\n')
    write('docs/größe a.md', '')
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('ends its tests at %s', async (signal) => {
    rmSync(vitest, { force: true })
    const pnpm = spawn('pnpm', ['check:changed'], {
      cwd: root,
      env: { ...process.env, PATH: `${pnpmBin}${path.delimiter}${process.env['PATH']}` },
      stdio: 'ignore',
      detached: true,
    })
    const ended = once(pnpm, 'exit')
    await expect.poll(() => existsSync(vitest) && readFileSync(vitest, 'utf8')).toContain('}')
    const { pid, tests: run } = JSON.parse(readFileSync(vitest, 'utf8'))
    // Of this folder, the projects of vitest contain only the contract.
    expect(run).toEqual([contract])
    expect(readFileSync(path.join(root, 'biome.txt'), 'utf8')).toMatch(/^docs\/größe a\.md$/m)
    // Ctrl-C reaches the whole group, another signal only pnpm.
    process.kill(signal === 'SIGINT' ? -pnpm.pid! : pnpm.pid!, signal)
    await ended
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
