import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MpsHost, missingCompiler, simulator, startMpsHost } from './mps-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(path.join(packageFolder, file), 'utf8')

it('the README shows the example as it stands in the file', () => {
  expect(/```ts\n([\s\S]*?)```/.exec(read('README.md'))?.[1]).toBe(read('examples/run-a-client.ts'))
})

describe.skipIf(missingCompiler)(`the README's example${missingCompiler ? ` (${missingCompiler})` : ''}`, () => {
  let host: MpsHost
  let folder: string

  beforeAll(async () => {
    host = await startMpsHost()
    // Only translated, and inside the package, whose name it imports: it meets the built packages, as a user's program does.
    folder = mkdtempSync(path.join(packageFolder, 'dist', '.example-'))
    await build({
      config: false,
      silent: true,
      entry: [path.join(packageFolder, 'examples', 'run-a-client.ts')],
      format: ['esm'],
      outDir: folder,
      outExtension: () => ({ js: '.mjs' }),
      external: [/^@pctodl/],
    })
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    await host?.stop()
  })

  it('runs a client with a share, and leaves nothing behind', async () => {
    const worker = [process.execPath, simulator, 'tenant', '--network', 'mobilenet_v2', '--batch', '8']
    const child = spawn(process.execPath, [path.join(folder, 'run-a-client.mjs'), ...worker], {
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
