import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltExample, buildExample } from '../../../test/built-example.js'
import { missingCompiler, type Node, startNode } from './node-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))

describe.skipIf(missingCompiler)(`the README's example${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let node: Node
  let example: BuiltExample

  beforeAll(async () => {
    node = await startNode({ privilege: 'everyone' })
    example = await buildExample(packageFolder, 'serve-and-ask')
  })
  afterAll(async () => {
    example?.remove()
    await node?.stop()
  })

  it('prints what the README says', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [example.file])
    const shown = /```text\n([\s\S]*?)```/.exec(readFileSync(path.join(packageFolder, 'README.md'), 'utf8'))![1]
    expect(stdout).toBe(shown)
  })
})
