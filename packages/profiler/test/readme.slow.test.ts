import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { alongTheClock } from '../examples/along-the-clock.js'

const packages = path.resolve(import.meta.dirname, '../..')
const readme = readFileSync(path.join(packages, 'profiler/README.md'), 'utf8')
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!)

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-chain-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A folder for PATH in which `pctodl` is the built program. */
function pctodlOnPath(): string {
  const bin = path.join(folder, 'bin')
  mkdirSync(bin)
  const program = `"${process.execPath}" "${path.join(packages, 'cli/bin/pctodl.js')}"`
  writeFileSync(path.join(bin, 'pctodl'), `#!/bin/sh\nexec ${program} "$@"\n`)
  chmodSync(path.join(bin, 'pctodl'), 0o755)
  return bin
}

describe('README', () => {
  it('leads from an empty folder to a prediction in one command', async () => {
    const bin = pctodlOnPath()
    const chain = blocks('sh').find((block) => block.startsWith('pctodl profile'))!
    expect(chain.match(/&&/g)).toHaveLength(2)
    const { stdout } = await promisify(execFile)('sh', ['-c', chain], {
      cwd: folder,
      env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env['PATH']}` },
    })
    expect(stdout).toMatch(/^344 rows: 344 ok\n5\d min \d+ s on the board, \d+ s here\n/)
    const heldOut = (quantity: string) =>
      Number(stdout.match(new RegExp(`^${quantity} +all +344 +([\\d.]+) %`, 'm'))![1])
    expect(heldOut('throughput')).toBeLessThan(2)
    expect(heldOut('power')).toBeLessThan(2)
    expect(stdout).toMatch(/^Throughput +\d{4}\.\d\d \+- \d+ samples\/s\nPower +1\d\d\.\d\d \+- /m)
    // It shows what is printed; how long that took here is up to the machine.
    const promised = (text: string) => text.replaceAll(/\d+ s here/g, '0 s here').replaceAll(/ +/g, ' ')
    for (const line of blocks('text')[0]!.trim().split('\n')) expect(promised(stdout)).toContain(promised(line))
  })

  it('shows an example that works, as it stands in the file', async () => {
    expect(blocks('ts')).toEqual([readFileSync(path.join(packages, 'profiler/examples/along-the-clock.ts'), 'utf8')])
    const lines = await alongTheClock('resnet50')
    expect(lines).toHaveLength(5)
    for (const line of lines) expect(readme.replaceAll('\n', ' ')).toContain(`\`${line}\``)
  })
})
