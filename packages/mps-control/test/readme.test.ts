import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltExample, buildExample } from '../../../test/built-example.js'
import { type MpsHost, missingCompiler, simulator, startMpsHost } from './mps-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(path.join(packageFolder, file), 'utf8')

it('the README shows the example as it stands in the file', () => {
  expect(/```ts\n([\s\S]*?)```/.exec(read('README.md'))?.[1]).toBe(read('examples/run-a-client.ts'))
})

describe.skipIf(missingCompiler)(`the README's example${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: MpsHost
  let example: BuiltExample

  beforeAll(async () => {
    host = await startMpsHost()
    example = await buildExample(packageFolder, 'run-a-client')
  })
  afterAll(async () => {
    example?.remove()
    await host?.stop()
  })

  it('runs a client with a share, and leaves nothing behind', async () => {
    const worker = [process.execPath, simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8']
    const child = spawn(process.execPath, [example.file, ...worker], {
      env: { ...process.env, PCTODL_MPS_DIR: path.join(host.folder, 'mps') },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const said: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.includes('compute mode')) continue
      said.push(line)
      // It has seen its client; now the client finishes.
      const client = /clients (\d+)$/.exec(line)?.[1]
      if (client !== undefined) process.kill(Number(client), 'SIGTERM')
    }
    expect(said).toEqual([
      expect.stringMatching(/^active, compute mode exclusive-process, clients \d+$/),
      'quit, compute mode default',
    ])
  })
})
