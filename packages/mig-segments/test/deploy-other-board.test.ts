import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { segments } from '../src/commands.js'
import { fleetMapColumns } from '../src/map/fleet-map.js'

const before = process.env['PATH']
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-other-board-'))
  const list = 'echo "0, GPU-0, Disabled, NVIDIA A100-SXM4-80GB"'
  writeFileSync(path.join(folder, 'nvidia-smi'), `#!/bin/sh\n${list}\n`, { mode: 0o755 })
  process.env['PATH'] = `${folder}:${before}`
})
afterAll(() => {
  process.env['PATH'] = before
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

// nvidia-smi would refuse the profiles only after the instances that run have been destroyed.
it('a map of one other type of board has nothing for this machine', async () => {
  const map = path.join(folder, 'fleet.csv')
  const deploy = () => {
    const words = ['--node', '0', '--map', map, '--directory', path.join(folder, 'place')]
    return callCommand('pctodl segments', segments, ['deploy', ...words])
  }
  writeFileSync(map, `${fleetMapColumns.join()}\nA30,0,0,1g.6gb,0,net,8,1\n`)
  expect(await deploy()).toMatchObject({ code: 1, stderr: expect.stringMatching(/has nothing on node 0/) })
  // As a spreadsheet saves it: with a byte order mark.
  writeFileSync(map, `\uFEFF${fleetMapColumns.join()}\nA100-80GB,0,0,1g.10gb,0,net,8,1\n`)
  expect(await deploy()).toMatchObject({ code: 0, stdout: expect.stringMatching(/-cgi 1g.10gb:0/) })
})
