import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// `npm test` begins with the linter, and the clone in which it does so has been used: it holds what commands wrote.

const root = path.resolve(import.meta.dirname, '..')
const untidy = '{"a":1,   "b":[1,2 , 3]}'

describe.each(['a clone', 'an unpacked archive, which has no .git'])('lint in %s', (kind) => {
  let folder: string
  const lint = () => {
    const biome = path.join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
    const { status, stdout, stderr } = spawnSync(process.execPath, [biome, 'ci', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return { status, said: `${stdout}${stderr}` }
  }
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl lint-'))
    for (const file of ['biome.json', '.gitignore']) cpSync(path.join(root, file), path.join(folder, file))
    write('packages/x/src/index.ts', 'export const x = 1\n')
    if (kind === 'a clone') expect(spawnSync('git', ['init', '--quiet'], { cwd: folder }).status).toBe(0)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('does not read what git ignores, nor what commands write', () => {
    const ignored = readFileSync(path.join(root, '.gitignore'), 'utf8').match(/^\/?[\w./]+\/$/gm)!
    expect(ignored).toContain('benchmark_results/')
    for (const place of ignored) write(path.join(place, 'written.json'), untidy)
    for (const place of ['packages/x/dist', 'packages/x/benchmark_results']) write(`${place}/written.json`, untidy)
    for (const file of ['board.json', 'fitted/A100.json', 'my results/report.json', 'run.events.jsonl'])
      write(file, untidy)
    expect(lint()).toMatchObject({ status: 0 })
  })

  it('reads what belongs to the repository', () => {
    write('packages/x/package.json', untidy)
    expect(lint()).toMatchObject({ status: 1, said: expect.stringContaining('package.json') })
  })
})
