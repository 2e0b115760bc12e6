import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { eventually } from '../../nvml-control/test/simulated-host.js'
import { launchScript } from '../src/cli/launch-script.js'
import { shardCommands } from '../src/index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-launch-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string) => path.join(folder, name)
// The limits are not what is tested here: this one only becomes the command.
writeFileSync(file('pctodl-gpu'), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
chmodSync(file('pctodl-gpu'), 0o755)

const plan = {
  format: 'pctodl-hetero-plan',
  version: 1,
  globalBatch: 30,
  unit: 'step',
  timeS: 1,
  energyJ: 1,
  compared: {},
  gpus: ['big one', 'small'].map((name, i) => ({ name, share: 20 - 10 * i, powerLimitW: 100, energyJ: 1 })),
} as const

/** Start the script of two processes; rank 1 runs `second`. */
function start(first: string, second: string) {
  const command = ['sh', '-c', `if [ "$RANK" = 0 ]; then ${first}; else ${second}; fi`]
  const devices = new Map([
    ['big one', '0'],
    ['small', '1'],
  ])
  const shards = shardCommands(
    { ...plan, gpus: [...plan.gpus] },
    { command, devices, masterAddress: 'localhost', masterPort: 29500 },
  )
  writeFileSync(file('launch.sh'), launchScript(shards))
  const child = spawn('sh', [file('launch.sh')], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output }))
  })
  return { child, ended }
}

// A process that is ended says so: what is left over after the script would be seen here.
const waits = 'trap "echo ended > was-ended; exit 0" TERM; echo here > started; while :; do sleep 0.05; done'

describe('the script that launch prints', () => {
  it('runs every process in its environment and ends with 0', async () => {
    const { code, output } = await start(
      'echo "$RANK of $WORLD_SIZE has $PCTODL_SHARE"',
      'echo "$RANK sees $CUDA_VISIBLE_DEVICES"',
    ).ended
    expect(output.split('\n').sort().join('\n')).toBe('\n0 of 2 has 20\n1 sees 0,1')
    expect(code).toBe(0)
  })

  it('ends the others where one dies, with its exit code', async () => {
    rmSync(file('was-ended'), { force: true })
    const { code, output } = await start(waits, 'until [ -e started ]; do sleep 0.02; done; exit 3').ended
    expect(output).toBe('small ended with exit code 3; the others are ended\n')
    expect(code).toBe(3)
    expect(readFileSync(file('was-ended'), 'utf8')).toBe('ended\n')
  })

  it('ends all when it is ended', async () => {
    for (const name of ['was-ended', 'started']) rmSync(file(name), { force: true })
    const { child, ended } = start(waits, waits)
    await eventually(() => existsSync(file('started')), 'a process has started')
    child.kill('SIGTERM')
    expect((await ended).code).toBe(143)
    expect(readFileSync(file('was-ended'), 'utf8')).toBe('ended\n')
  })
})
