import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exitCodeOf, Interruption } from '@pctodl/command-line'
import { afterAll, describe, expect, it } from 'vitest'
import { pctodlPlayground } from '../src/commands.js'
import { pageFile } from '../src/index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'playground-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Start the command; `address` comes when it serves. */
function start(argv: readonly string[]) {
  const controller = new AbortController()
  const said = { stdout: '', stderr: '' }
  let tell: (line: string) => void = () => {}
  const address = new Promise<string>((resolve) => {
    tell = resolve
  })
  const code = exitCodeOf('pctodl playground', pctodlPlayground, argv, {
    stdout: {
      write: (text) => {
        said.stdout += text
        tell(text.trim())
      },
    },
    stderr: { write: (text) => (said.stderr += text) },
    signal: controller.signal,
    env: {},
  })
  return { address, code, said, end: () => controller.abort(new Interruption('SIGINT')) }
}

function ask(address: string, { path: where = '/', method = 'GET', headers = {} } = {}) {
  return new Promise<{ status: number; body: Buffer; encoding: string | undefined }>((resolve, reject) => {
    request(new URL(where, address), { method, headers }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part) => parts.push(part))
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          body: Buffer.concat(parts),
          encoding: response.headers['content-encoding'],
        }),
      )
    })
      .on('error', reject)
      .end()
  })
}

describe('pctodl playground', () => {
  it('serves the page to this machine until it is interrupted', async () => {
    const { address, code, said, end } = start(['--port', '0'])
    const page = await ask(await address)
    expect(page).toMatchObject({ status: 200, encoding: undefined })
    expect(page.body.equals(readFileSync(pageFile()))).toBe(true)
    // As RFC 9110 has it: weights, and any other coding than what is named.
    for (const [accepted, encoding] of [
      ['gzip;q=0', undefined],
      ['gzip; q=0.0, *', undefined],
      ['br, *;q=0', undefined],
      ['not-gzip', undefined],
      ['*', 'gzip'],
      ['identity;q=0.5, GZIP;q=0.1', 'gzip'],
      ['gzip;q=1', 'gzip'],
      ['x-gzip', 'gzip'],
      ['*;q=1, gzip;q=0', undefined],
    ] as const) {
      const answer = await ask(await address, { headers: { 'accept-encoding': accepted } })
      expect({ accepted, encoding: answer.encoding }).toEqual({ accepted, encoding })
    }
    const zipped = await ask(await address, { headers: { 'accept-encoding': 'gzip, br' } })
    expect(zipped.encoding).toBe('gzip')
    expect(zipped.body.length).toBeLessThan(260_000)
    for (const where of ['/package.json', '/index.html.bak']) {
      expect((await ask(await address, { path: where })).status).toBe(404)
    }
    expect(await ask(await address, { path: '/index.html?x=1', method: 'HEAD' })).toMatchObject({
      status: 200,
      body: Buffer.alloc(0),
    })
    expect((await ask(await address, { method: 'POST' })).status).toBe(405)
    // A name that somebody else points at this machine.
    expect((await ask(await address, { headers: { host: 'rebound.example:80' } })).status).toBe(421)

    const port = new URL(await address).port
    const second = start(['--port', port])
    expect(await second.code).toBe(1)
    expect(second.said.stderr).toContain(`--port ${port} cannot be had`)
    end()
    expect(await code).toBe(130)
    expect(said.stderr).toContain('Nothing is sent anywhere.')
  })

  it('exports the page as one file', async () => {
    const site = path.join(folder, 'deep', 'site')
    const { code, said } = start(['--export', site])
    expect(await code).toBe(0)
    expect(said.stdout).toBe(`${path.join(site, 'index.html')}\n`)
    expect(readFileSync(path.join(site, 'index.html')).equals(readFileSync(pageFile()))).toBe(true)
    writeFileSync(path.join(folder, 'file'), '')
    const refused = start(['--export', path.join(folder, 'file')])
    expect(await refused.code).toBe(1)
    expect(refused.said.stderr).toContain('choose a place that can be written')
    expect(await start(['--export', site, '--port', '1']).code).toBe(2)
  })

  it("leaves somebody else's page alone, and takes its own and an empty one for replaceable", async () => {
    const site = path.join(folder, 'foreign')
    mkdirSync(site)
    const page = path.join(site, 'index.html')
    const theirs = '<!doctype html><title>My results</title><p>See the &lt;title>pctodl playground&lt;/title>'
    writeFileSync(page, theirs)
    const refused = start(['--export', site])
    expect(await refused.code).toBe(1)
    expect(refused.said.stderr).toContain(`${page} is another page, which is left alone`)
    expect(readFileSync(page, 'utf8')).toBe(theirs)
    for (const before of ['', '<!doctype html>\n<title>pctodl playground</title> of another release']) {
      writeFileSync(page, before)
      expect(await start(['--export', site]).code).toBe(0)
      expect(readFileSync(page).equals(readFileSync(pageFile()))).toBe(true)
    }
  })

  it.skipIf(process.platform === 'win32')(
    'replaces a link of its name, and leaves alone what it leads to',
    async () => {
      const site = path.join(folder, 'linked')
      mkdirSync(site)
      const other = path.join(folder, 'other.txt')
      writeFileSync(other, 'kept')
      symlinkSync(other, path.join(site, 'index.html'))
      expect(await start(['--export', site]).code).toBe(0)
      expect(readFileSync(other, 'utf8')).toBe('kept')
      expect(lstatSync(path.join(site, 'index.html')).isFile()).toBe(true)
    },
  )

  it.skipIf(process.platform !== 'linux')(
    'says that a folder takes no entries, where making folders never ended',
    async () => {
      const { code, said } = start(['--export', '/proc/no/such'])
      expect(await code).toBe(1)
      expect(said.stderr).toContain('cannot write /proc/no/such/index.html')
    },
  )
})
