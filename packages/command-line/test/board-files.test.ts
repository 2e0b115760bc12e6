import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findGpuSpec, formatPlatformFile, type GpuSpec } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { withBoardFiles } from '../src/board-files.js'
import { newCommand, parseCommand } from '../src/index.js'

const folder = mkdtempSync(join(tmpdir(), 'board-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const mine: GpuSpec = {
  ...findGpuSpec('A100'),
  key: 'Mine-2',
  name: 'Mine',
  aliases: [],
  chip: 'X',
  process: 'TSMC 3N',
}
const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

describe('a board given as a file', () => {
  it('is known afterwards, from JSON and from YAML, with and without its format', async () => {
    const json = write('a.json', formatPlatformFile(mine))
    expect(await withBoardFiles(['--gpu', json, '--seed', '1'])).toEqual(['--gpu', 'Mine-2', '--seed', '1'])
    expect(findGpuSpec('Mine-2')).toEqual(mine)
    const yaml = write('b.yaml', JSON.stringify({ ...mine, key: 'Mine-3' }))
    expect(await withBoardFiles([`--gpu=A100,${yaml}`])).toEqual(['--gpu=A100,Mine-3'])
    expect(findGpuSpec('mine 3').key).toBe('Mine-3')
  })

  it("leaves alone what is no file, and what is another command's", async () => {
    const words = ['--gpu', 'A100=trace.json', '--trace', 'x.json', '--gpu', '0', '--', 'run', '--gpu', 'no.json']
    expect(await withBoardFiles(words)).toEqual(words)
  })

  it.each([
    ['missing.json', undefined, /missing.json, the whole: got nothing, expected a file that can be read/],
    ['text.json', 'nonsense', /text.json, the whole: got 'nonsense', expected JSON/],
    ['text.yaml', 'a: [', /text.yaml, the whole: .*expected YAML/],
    [
      'sms.json',
      JSON.stringify({ ...mine, smCount: 'many' }),
      /sms.json, smCount: got 'many', expected a number above 0; /,
    ],
    ['key.json', JSON.stringify({ ...mine, key: 'H100' }), /spec.key: .*H100 is a board with GH100/],
  ])('is refused as %s, naming field, value and remedy', async (name, text, message) => {
    const file = text === undefined ? join(folder, name) : write(name, text)
    const stream = { write: () => true }
    const terminal = { stdout: stream, stderr: stream, signal: new AbortController().signal, env: {} } as never
    const command = newCommand({ name: 'x', description: 'x', example: 'x' }, terminal).option('--gpu <name>')
    const refused = parseCommand(command, ['--gpu', file])
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toMatchObject({ exitCode: 2 })
  })
})
