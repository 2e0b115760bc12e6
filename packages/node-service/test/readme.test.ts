import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missingCompiler, type Node, startNode } from './node-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))

describe.skipIf(missingCompiler)(`the README's example${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let folder: string

  beforeAll(async () => {
    node = await startNode({ privilege: 'everyone' })
    mkdirSync(path.join(packageFolder, 'dist'), { recursive: true })
    // Only translated, and inside the package, whose name it imports: it meets the built packages, as a user's program does.
    folder = mkdtempSync(path.join(packageFolder, 'dist', '.example-'))
    await build({
      config: false,
      silent: true,
      entry: [path.join(packageFolder, 'examples', 'serve-and-ask.ts')],
      format: ['esm'],
      outDir: folder,
      outExtension: () => ({ js: '.mjs' }),
      external: [/^@pctodl/],
    })
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    await node?.stop()
  })

  it('prints what the README says', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [path.join(folder, 'serve-and-ask.mjs')])
    const shown = /```text\n([\s\S]*?)```/.exec(readFileSync(path.join(packageFolder, 'README.md'), 'utf8'))![1]
    expect(stdout).toBe(shown)
  })
})
