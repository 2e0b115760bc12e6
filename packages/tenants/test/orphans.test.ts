import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { eventually, isAlive } from './eventually.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-orphans-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const packageFolder = path.resolve(import.meta.dirname, '..')
const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).status === 0

describe('workers whose pool is killed', () => {
  it.skipIf(!hasSetpriv)('are gone at once, a stopped one too (needs setpriv of util-linux)', async () => {
    const parent = path.join(folder, 'parent.mjs')
    writeFileSync(
      parent,
      `import { commandWorker, InferencePool, syntheticImages } from ${JSON.stringify(pathToFileURL(path.join(packageFolder, 'src/index.ts')).href)}
       const images = await syntheticImages({ folder: ${JSON.stringify(folder)}, count: 1 })
       const worker = commandWorker([process.execPath, ${JSON.stringify(path.join(import.meta.dirname, 'scripted-worker.mjs'))}])
       const pool = new InferencePool({ worker, images })
       await pool.apply([1, 2, 3].map((i) => ({ model: 'm' + i, mpsPercent: 20, batchSize: 4 })))
       console.log(JSON.stringify(pool.pids()))
       setInterval(() => {}, 1000)`,
    )
    const tsx = path.resolve(packageFolder, '../../node_modules/tsx/dist/cli.mjs')
    // Not tsx's own command line: that would be a parent between us and the pool.
    const loader = pathToFileURL(path.join(path.dirname(tsx), 'loader.mjs')).href
    const child = spawn(process.execPath, ['--conditions=@pctodl/source', '--import', loader, parent], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const pids = await new Promise<number[]>((resolve, reject) => {
      child.stdout.once('data', (text: Buffer) => resolve(JSON.parse(String(text))))
      child.once('exit', (code) => reject(new Error(`the parent ended with ${code}`)))
    })
    expect(pids).toHaveLength(3)
    expect(pids.every(isAlive)).toBe(true)
    process.kill(pids[0]!, 'SIGSTOP')
    await pause(50)
    child.kill('SIGKILL')
    await eventually(() => !pids.some(isAlive), 'no worker is left', 3000)
  })
})
