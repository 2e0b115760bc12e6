#!/usr/bin/env node
// The Debian package of pctodld: `node packaging/build-deb.mjs [--out <folder>] [--compression none]`. Needs dpkg-deb, and an installed
// workspace; nothing has to be built before. It carries the Node.js that runs this script, because Debian 12 and Ubuntu 24.04 have an
// older one than the service needs, and because a root service should not change with the node's other programs.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const { out, compression } = parseArgs({
  options: { out: { type: 'string', default: '.' }, compression: { type: 'string', default: 'xz' } },
}).values
const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const from = (...names) => path.join(packageFolder, ...names)
const { version, description, homepage } = JSON.parse(readFileSync(from('package.json'), 'utf8'))
const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch]
if (process.platform !== 'linux' || !architecture) throw new Error('pctodld runs on Linux, on x64 or arm64')
const maintainer = 'The pctodl authors <pctodl@users.noreply.github.com>'
/** Two builds of one version are the same file. */
const builtAt = new Date(1000 * Number(process.env.SOURCE_DATE_EPOCH ?? 1_735_689_600))

// All users run the program, whoever builds it.
process.umask(0o022)
const root = mkdtempSync(path.join(tmpdir(), 'pctodld-deb-'))
try {
  chmodSync(root, 0o755)
  const modules = await program('usr/lib/pctodld')
  write('usr/bin/pctodld', '#!/bin/sh\nexec /usr/lib/pctodld/node /usr/lib/pctodld/pctodld.js "$@"\n', 0o755)
  for (const script of ['prolog.sh', 'epilog.sh'])
    install(`usr/lib/pctodld/slurm/${script}`, from('slurm', script), 0o755)
  for (const unit of ['pctodld.service', 'pctodld.socket'])
    install(`usr/lib/systemd/system/${unit}`, from('systemd', unit))
  install('usr/lib/tmpfiles.d/pctodld.conf', from('packaging/debian/tmpfiles'))
  install('etc/logrotate.d/pctodld', from('packaging/debian/logrotate'))
  install('etc/pctodl/policy.json', from('packaging/debian/policy.json'))
  install('usr/share/doc/pctodld/examples/policy.json', from('policy.example.json'))
  documents('usr/share/doc/pctodld', modules)
  install('usr/share/lintian/overrides/pctodld', from('packaging/debian/lintian-overrides'))
  write('DEBIAN/conffiles', '/etc/logrotate.d/pctodld\n/etc/pctodl/policy.json\n')
  for (const script of ['postinst', 'prerm', 'postrm'])
    install(`DEBIAN/${script}`, from('packaging/debian', script), 0o755)
  write('DEBIAN/md5sums', checksums())
  write('DEBIAN/control', control())
  mkdirSync(out, { recursive: true })
  const file = path.resolve(out, `pctodld_${version}_${architecture}.deb`)
  execFileSync('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', root, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(builtAt.getTime() / 1000) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  process.stdout.write(`${file}\n`)
} finally {
  rmSync(root, { recursive: true, force: true })
}

/** Node.js, the service and the programs that it starts, and the one native module. @returns modules of others that are bundled */
async function program(folder) {
  const at = path.join(root, folder)
  mkdirSync(at, { recursive: true })
  const { metafile } = await build({
    metafile: true,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    splitting: true,
    conditions: ['@pctodl/source'],
    logLevel: 'error',
    entryPoints: {
      pctodld: from('src/pctodld.ts'),
      'board-worker': from('src/board-worker.ts'),
      'restore-journal': from('../nvml-control/src/restore-journal.ts'),
    },
    outdir: at,
    external: ['koffi'],
    // What is bundled of CommonJS asks for Node's own modules.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
  write(`${folder}/package.json`, '{ "type": "module" }\n')
  cpSync(process.execPath, path.join(at, 'node'), { dereference: true })
  execFileSync('strip', ['--strip-unneeded', path.join(at, 'node')])
  const require = createRequire(from('package.json'))
  const koffi = path.dirname(require.resolve('koffi'))
  copy(
    koffi,
    `${folder}/node_modules/koffi`,
    (name) =>
      !/^(doc|vendor|lib|cnoke\.cjs)$|^(trampolines\.cjs|CMakeLists\.txt|abi)$|\.(cc|hh|S|asm|inc|md|ts|def)$/.test(
        name,
      ),
  )
  const native = `@koromix/koffi-linux-${process.arch}`
  const nativeAt = path.dirname(createRequire(path.join(koffi, 'package.json')).resolve(native))
  copy(nativeAt, `${folder}/node_modules/${native}`, (name) => !/^musl_|\.md$/.test(name))
  const names = Object.keys(metafile.inputs).map((input) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input))
  return new Map(names.filter((found) => found !== null).map(([at, name]) => [name, path.resolve(at)]))
}

function documents(folder, modules) {
  const date = builtAt.toUTCString().replace('GMT', '+0000')
  const changes = `pctodld (${version}) unstable; urgency=medium\n\n  * Release of this version\n\n -- ${maintainer}  ${date}\n`
  write(`${folder}/changelog.gz`, gzipSync(changes, { level: 9 }))
  const bundled = [...modules].sort().map(([name, at]) => {
    const { license } = JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8'))
    return ` ${name}: ${license}\n`
  })
  write(
    `${folder}/copyright`,
    readFileSync(from('packaging/debian/copyright'), 'utf8').replace(' @MODULES@\n', bundled.join('')),
  )
  const help = execFileSync(
    path.join(root, 'usr/lib/pctodld/node'),
    [path.join(root, 'usr/lib/pctodld/pctodld.js'), '--help'],
    {
      encoding: 'utf8',
    },
  )
  const text = help
    .replaceAll('\\', '\\e')
    .replace(/^(?=['.])/gm, '\\&')
    .replaceAll('-', '\\-')
  const page = `.TH PCTODLD 8 "" "pctodld ${version}"\n.SH NAME\npctodld \\- ${description}\n.SH USAGE\n.nf\n${text}.fi\n`
  write('usr/share/man/man8/pctodld.8.gz', gzipSync(page, { level: 9 }))
}

function control() {
  const kib = execFileSync('du', ['-sk', '--exclude=DEBIAN', root], { encoding: 'utf8' }).split('\t')[0]
  return `Package: pctodld
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${kib}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), init-system-helpers (>= 1.54)
Recommends: logrotate
Enhances: slurmd
Section: admin
Priority: optional
Homepage: ${homepage}
Description: node service that changes GPUs within a policy
 pctodld is the only program of a node that needs the right to change its
 NVIDIA GPUs. Programs of users lease boards over a unix socket and set power
 limits and clocks within the operator's policy; the service puts each board
 back when its lease ends, however its holder ends. Serves Zeus as zeusd does,
 and Prometheus. The package carries its own Node.js.
`
}

function checksums() {
  const list = execFileSync('find', ['etc', 'usr', '-type', 'f'], { cwd: root, encoding: 'utf8' })
  const files = list.split('\n').filter(Boolean).sort()
  return execFileSync('md5sum', files, { cwd: root, encoding: 'utf8' })
}

function write(name, content, mode = 0o644) {
  const file = path.join(root, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, content, { mode })
}

function install(name, file, mode) {
  write(name, readFileSync(file), mode)
}

function copy(folder, to, isWanted) {
  const filter = (file) => file === folder || isWanted(path.basename(file))
  cpSync(folder, path.join(root, to), { recursive: true, dereference: true, filter })
}
