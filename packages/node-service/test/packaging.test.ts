import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parsePolicy } from '../src/policy.js'

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
    execFileSync(process.execPath, [script, '--out', folder, '--compression', 'none'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    deb = path.join(folder, readdirSync(folder)[0]!)
    root = path.join(folder, 'root')
    execFileSync('dpkg-deb', ['--raw-extract', deb, root])
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

  const inside = (file: string) => readFileSync(path.join(root, file), 'utf8')

  it('has what a node needs, and configuration that an upgrade leaves alone', () => {
    expect(path.basename(deb)).toMatch(new RegExp(`^pctodld_${version}_(amd64|arm64)\\.deb$`))
    expect(inside('DEBIAN/conffiles')).toBe('/etc/logrotate.d/pctodld\n/etc/pctodl/policy.json\n')
    expect(parsePolicy(inside('etc/pctodl/policy.json')).rules).toEqual([])
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

describe('the DaemonSet', () => {
  const manifest = read('packaging/kubernetes.yaml')

  it('has a policy that is one, and allows nothing', () => {
    const [, text] = /policy\.json: \|\n((?: {4}.*\n)+)/.exec(manifest)!
    expect(parsePolicy(text!).rules).toEqual([])
  })

  it('gives the service the rights and the places that its unit gives it, and the host’s processes', () => {
    const unit = read('systemd/pctodld.service')
    const [, rights] = /^CapabilityBoundingSet=(.*)$/m.exec(unit)!
    expect(/add: \[(.*)\]/.exec(manifest)![1]!.split(', ')).toEqual(rights!.replaceAll('CAP_', '').split(' '))
    for (const place of ['/etc/pctodl', '/var/lib/pctodl', '/run/pctodl'])
      expect(manifest).toContain(`mountPath: ${place}`)
    expect(manifest).toContain('hostPID: true')
    const image = read('packaging/Containerfile')
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/pctodld serve .*--zeusd \/run\/pctodl\/zeusd.sock$/m)
    expect(image).toContain('CMD ["serve", "--zeusd", "/run/pctodl/zeusd.sock", "--http", "0.0.0.0:9402"]')
    expect(manifest).toContain(`pctodld:${version}`)
  })
})
