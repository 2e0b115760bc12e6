import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../../../test/long-tests.js'
import { Policy } from '../src/policy.js'
import { eventually, everything, missingCompiler, ServiceClient, startNode } from './node-host.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(path.join(packageFolder, file), 'utf8')
const { version } = JSON.parse(read('package.json'))
const missing = spawnSync('dpkg-deb', ['--version']).status === 0 ? undefined : 'needs dpkg-deb'

// `debian.test.ts` installs it.
describe.skipIf(missing)(`the Debian package${missing ? ` (${missing})` : ''}`, () => {
  let folder: string
  let deb: string
  let root: string

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-deb-'))
    const script = path.join(packageFolder, 'packaging', 'build-deb.mjs')
    // All users can run the program, even if it was built under a restrictive umask.
    const build = [
      '-c',
      'umask 077; exec "$@"',
      'sh',
      process.execPath,
      script,
      '--out',
      folder,
      '--compression',
      'none',
    ]
    execFileSync('sh', build, { stdio: ['ignore', 'ignore', 'inherit'] })
    deb = path.join(folder, readdirSync(folder)[0]!)
    root = path.join(folder, 'root')
    execFileSync('dpkg-deb', ['--raw-extract', deb, root])
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  const inside = (file: string) => readFileSync(path.join(root, file), 'utf8')

  it('has what a node needs, and configuration that an upgrade leaves alone', () => {
    expect(path.basename(deb)).toMatch(new RegExp(`^pctodld_${version}_(amd64|arm64)\\.deb$`))
    expect(inside('DEBIAN/conffiles')).toBe('/etc/logrotate.d/pctodld\n/etc/pctodl/policy.json\n')
    expect(Policy.parse(inside('etc/pctodl/policy.json')).rules).toEqual([])
    expect(inside('usr/lib/systemd/system/pctodld.service')).toBe(read('systemd/pctodld.service'))
    expect(inside('usr/lib/systemd/system/pctodld.socket')).toBe(read('systemd/pctodld.socket'))
    expect(inside('usr/lib/tmpfiles.d/pctodld.conf')).toContain('d /run/pctodl 0755 root root')
    for (const script of ['DEBIAN/postinst', 'DEBIAN/prerm', 'DEBIAN/postrm', 'usr/lib/pctodld/slurm/epilog.sh']) {
      expect(statSync(path.join(root, script)).mode & 0o777).toBe(0o755)
      expect(spawnSync('sh', ['-n', path.join(root, script)]).status).toBe(0)
    }
    const owners = execFileSync('dpkg-deb', ['--contents', deb], { encoding: 'utf8' }).trim().split('\n')
    for (const line of owners) expect(line).toMatch(/^[d-](?:rwxr-xr-x|rw-r--r--) root\/root /)
  })

  it('runs without a Node.js of the system, from where it is', () => {
    const at = path.join(root, 'usr/lib/pctodld')
    const options = { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } } as const
    expect(spawnSync(path.join(at, 'node'), [path.join(at, 'pctodld.js'), '--version'], options).stdout).toBe(
      `${version}\n`,
    )
    // The programs that it starts lie beside it.
    expect(readdirSync(at)).toEqual(expect.arrayContaining(['board-worker.js', 'restore-journal.js']))
    const script =
      "const { load } = await import('koffi'); console.log(load(null).func('int getpid()')() === process.pid)"
    const loaded = spawnSync(path.join(at, 'node'), ['--input-type=module', '-e', script], { ...options, cwd: at })
    expect(loaded).toMatchObject({ stdout: 'true\n' })
  })
})

/** A file of a layout by its digest, which must be that of its content. */
function blobOf(layout: string, { digest, size }: { readonly digest: string; readonly size: number }): Buffer {
  const content = readFileSync(path.join(layout, 'blobs/sha256', digest.replace('sha256:', '')))
  expect([`sha256:${createHash('sha256').update(content).digest('hex')}`, content.length]).toEqual([digest, size])
  return content
}

describe.skipIf(missing)(`the image${missing ? ` (${missing})` : ''}`, () => {
  let folder: string
  let layout: string
  let root: string
  let config: { readonly rootfs: object; readonly config: object }

  const build = (compression: string, out = path.join(folder, compression)) => {
    const run = (script: string, ...words: string[]) =>
      execFileSync(process.execPath, [path.join(packageFolder, 'packaging', script), ...words], { encoding: 'utf8' })
    const deb = path.join(folder, `pctodld_${version}_${arch}.deb`)
    if (!existsSync(deb)) run('build-deb.mjs', '--out', folder, '--compression', 'none')
    return run('build-image.mjs', deb, '--out', out, '--compression', compression).trim()
  }
  const arch = process.arch === 'arm64' ? 'arm64' : 'amd64'

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'pctodl-image-'))
    for (const each of ['layout', 'root']) mkdirSync(path.join(folder, each))
    layout = path.join(folder, 'layout')
    root = path.join(folder, 'root')
    execFileSync('tar', ['--extract', '--file', build('none'), '--directory', layout])
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  it('is an OCI layout whose digests are right, and starts the service', () => {
    const read = (file: string) => JSON.parse(readFileSync(path.join(layout, file), 'utf8'))
    expect(read('oci-layout')).toEqual({ imageLayoutVersion: '1.0.0' })
    const { schemaVersion, manifests } = read('index.json')
    expect([schemaVersion, manifests.length]).toEqual([2, 1])
    expect(manifests[0].platform).toEqual({ architecture: arch, os: 'linux' })
    const manifest = JSON.parse(String(blobOf(layout, manifests[0])))
    config = JSON.parse(String(blobOf(layout, manifest.config)))
    const layer = blobOf(layout, manifest.layers[0])
    expect(config.rootfs).toEqual({ type: 'layers', diff_ids: [manifest.layers[0].digest] })
    const command = ['serve', '--zeusd', '/run/pctodl/zeusd.sock', '--http', '0.0.0.0:9402']
    expect(config.config).toMatchObject({ Entrypoint: ['/usr/bin/pctodld'], Cmd: command })
    execFileSync('tar', ['--extract', '--directory', root], { input: layer })
    expect(readdirSync(path.join(layout, 'blobs/sha256'))).toHaveLength(3)
    const unit = readFileSync(path.join(packageFolder, 'systemd/pctodld.service'), 'utf8')
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/pctodld serve .*--zeusd \/run\/pctodl\/zeusd.sock$/m)
  })

  it.each(someOf(['is']))('%s the same file whenever it is built, and the same layer when it is compressed', () => {
    const [one, other] = [build('none'), build('none', path.join(folder, 'again'))].map((file) => readFileSync(file))
    expect(one!.equals(other!)).toBe(true)
    const packed = path.join(folder, 'packed')
    mkdirSync(packed)
    execFileSync('tar', ['--extract', '--file', build('gzip'), '--directory', packed])
    const { manifests } = JSON.parse(readFileSync(path.join(packed, 'index.json'), 'utf8'))
    const { config: ofPacked, layers } = JSON.parse(String(blobOf(packed, manifests[0])))
    expect(JSON.parse(String(blobOf(packed, ofPacked)))).toEqual(config)
    expect(
      gunzipSync(blobOf(packed, layers[0])).equals(readFileSync(path.join(layout, 'blobs/sha256', digestOf(config)))),
    ).toBe(true)
  })

  const isRoot = process.geteuid?.() === 0
  it.skipIf(!isRoot)(`has all that the service needs${isRoot ? '' : ' (needs root)'}`, () => {
    const inside = (...words: string[]) =>
      spawnSync('chroot', [root, ...words], { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin' } })
    expect(inside('/usr/bin/pctodld', '--version')).toMatchObject({ status: 0, stdout: `${version}\n` })
    expect(inside('/usr/bin/getent', 'passwd', 'root').stdout).toMatch(/^root:x:0:/)
    const checked = inside('/usr/bin/pctodld', 'check-policy', '/etc/pctodl/policy.json')
    expect(checked.stdout).toBe('/etc/pctodl/policy.json: 0 rules\n')
  })

  it.skipIf(missingCompiler)(`serves a node${missingCompiler ? ` (${missingCompiler})` : ''}`, async () => {
    const node = await startNode({ gpus: 2, privilege: 'everyone' })
    const { socket, policyFile, stateFolder, mpsFolder, libraryPath } = node.options
    node.allow(everything([process.geteuid?.() ?? 0]))
    const at = path.join(root, 'usr/lib/pctodld')
    const places = ['--policy', policyFile, '--state', stateFolder, '--mps', mpsFolder, '--library', libraryPath!]
    const words = [path.join(at, 'pctodld.js'), 'serve', '--socket', socket, '--http', 'none', ...places]
    const service = spawn(path.join(at, 'node'), words, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => service.once('exit', resolve))
    try {
      const said = await new Promise((resolve) => service.stdout.once('data', (text) => resolve(String(text))))
      expect(said).toMatch(/^pctodld: 2 boards at /)
      const client = await ServiceClient.open({ socket })
      const board = node.devices[0]!.uuid
      await client.request({ type: 'acquire', board })
      await client.request({ type: 'change', board, change: { kind: 'power-limit', powerLimitW: 250 } })
      expect(node.devices[0]!.powerLimitW()).toBe(250)
      client.close()
      await eventually(() => node.devices[0]!.powerLimitW() === 350, 'the board is put back')
    } finally {
      service.kill()
      expect(await ended).toBe(0)
      await node.stop()
    }
  })
})

function digestOf({ rootfs }: { readonly rootfs: object }): string {
  return (rootfs as { readonly diff_ids: readonly string[] }).diff_ids[0]!.replace('sha256:', '')
}

describe('the DaemonSet', () => {
  const manifest = read('packaging/kubernetes.yaml')

  it('has a policy that is one, and allows nothing', () => {
    const [, text] = /policy\.json: \|\n((?: {4}.*\n)+)/.exec(manifest)!
    expect(Policy.parse(text!).rules).toEqual([])
  })

  it('gives the service the rights and the places that its unit gives it, and the host’s processes', () => {
    const unit = read('systemd/pctodld.service')
    const [, rights] = /^CapabilityBoundingSet=(.*)$/m.exec(unit)!
    expect(/add: \[(.*)\]/.exec(manifest)![1]!.split(', ')).toEqual(rights!.replaceAll('CAP_', '').split(' '))
    for (const place of ['/etc/pctodl', '/var/lib/pctodl', '/run/pctodl'])
      expect(manifest).toContain(`mountPath: ${place}`)
    expect(manifest).toContain('hostPID: true')
    const build = read('packaging/build-image.mjs')
    const [, name] = /(ghcr\.io\/pctodl\/pctodld:)\$\{version\}/.exec(build)!
    expect(manifest).toContain(`image: ${name}${version}\n`)
  })
})
