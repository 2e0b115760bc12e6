#!/usr/bin/env node
// The image of pctodld, from its Debian package and without a container engine: `node packaging/build-image.mjs pctodld_*.deb
// [--out <folder>] [--compression none]`. Writes an OCI archive (`docker load`, `podman load`, `skopeo copy oci-archive:...`). It has one
// layer: the package's files, a shell, `getent`, and the C libraries of this machine. The container toolkit adds the driver's libraries.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: '.' }, compression: { type: 'string', default: 'gzip' } },
})
const [deb] = positionals
if (!deb) throw new Error('usage: build-image.mjs <package of build-deb.mjs>')
const field = (name) => execFileSync('dpkg-deb', ['--field', deb, name], { encoding: 'utf8' }).trim()
const [version, architecture] = [field('Version'), field('Architecture')]
/** Two images of one package are the same file. */
const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? 1_735_689_600)

const folder = mkdtempSync(path.join(tmpdir(), 'pctodld-image-'))
try {
  const [root, layout] = [path.join(folder, 'root'), path.join(folder, 'layout')]
  fill(root)
  const layer = tar(root)
  const blob = (type, content, more = {}) => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content))
    const digest = createHash('sha256').update(bytes).digest('hex')
    mkdirSync(path.join(layout, 'blobs/sha256'), { recursive: true })
    writeFileSync(path.join(layout, 'blobs/sha256', digest), bytes)
    return { mediaType: `application/vnd.oci.image.${type}`, digest: `sha256:${digest}`, size: bytes.length, ...more }
  }
  const [type, bytes] = values.compression === 'none' ? ['tar', layer] : ['tar+gzip', gzipSync(layer)]
  const layers = [blob(`layer.v1.${type}`, bytes)]
  const config = blob('config.v1+json', {
    created: new Date(1000 * epoch).toISOString(),
    architecture,
    os: 'linux',
    config: {
      Env: ['PATH=/usr/sbin:/usr/bin', 'NVIDIA_VISIBLE_DEVICES=all', 'NVIDIA_DRIVER_CAPABILITIES=utility,compute'],
      Entrypoint: ['/usr/bin/pctodld'],
      Cmd: ['serve', '--zeusd', '/run/pctodl/zeusd.sock', '--http', '0.0.0.0:9402'],
      ExposedPorts: { '9402/tcp': {} },
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] },
  })
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = blob(
    'manifest.v1+json',
    { schemaVersion: 2, mediaType, config, layers },
    {
      platform: { architecture, os: 'linux' },
      annotations: {
        'org.opencontainers.image.ref.name': version,
        'io.containerd.image.name': `ghcr.io/pctodl/pctodld:${version}`,
      },
    },
  )
  writeFileSync(path.join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }))
  writeFileSync(path.join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  mkdirSync(values.out, { recursive: true })
  const file = path.resolve(values.out, `pctodld_${version}_${architecture}.oci.tar`)
  writeFileSync(file, tar(layout))
  process.stdout.write(`${file}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Puts the file system of the image into a folder. */
function fill(root) {
  for (const each of ['usr/bin', 'usr/lib', 'usr/lib64', 'usr/sbin', 'etc/pctodl', 'run', 'var/lib', 'tmp'])
    mkdirSync(path.join(root, each), { recursive: true, mode: 0o755 })
  for (const each of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${each}`, path.join(root, each))
  execFileSync('dpkg-deb', ['--extract', deb, root])
  // A container has neither units nor log rotation nor Slurm.
  for (const each of [
    'etc/logrotate.d',
    'usr/lib/systemd',
    'usr/lib/tmpfiles.d',
    'usr/lib/pctodld/slurm',
    'usr/share/man',
  ])
    rmSync(path.join(root, each), { recursive: true, force: true })
  writeFileSync(path.join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/usr/bin/sh\n')
  writeFileSync(path.join(root, 'etc/group'), 'root:x:0:\n')
  const at = path.join(root, 'usr/lib/pctodld')
  const native = readdirSync(at, { recursive: true }).filter((name) => name.endsWith('.node'))
  const programs = ['/bin/sh', '/usr/bin/getent', ...['node', ...native].map((name) => path.join(at, name))]
  for (const file of new Set([...programs.slice(0, 2), ...programs.flatMap(librariesOf)])) {
    const to = path.join(root, file.startsWith('/usr/') ? file : `/usr${file}`)
    mkdirSync(path.dirname(to), { recursive: true, mode: 0o755 })
    cpSync(realpathSync(file), to)
  }
}

/** Shared libraries of a program, the dynamic loader included. */
function librariesOf(program) {
  const lines = execFileSync('ldd', [program], { encoding: 'utf8', env: { PATH: process.env.PATH } })
  return [...lines.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, file]) => file).filter((file) => existsSync(file))
}

/** An archive that depends only on names, contents and which files are programs, whatever the umask. */
function tar(from) {
  const plain = [
    '--sort=name',
    '--format=ustar',
    `--mtime=@${epoch}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
  ]
  return execFileSync('tar', [...plain, '--directory', from, '--create', '.'], { maxBuffer: 2 ** 30 })
}
