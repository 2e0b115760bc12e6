/** What `npm publish` would send: every package of the workspace as a tarball, packed by pnpm, which settles `workspace:`. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pnpmBin } from './bring-pnpm.mjs'

export const root: string = path.resolve(import.meta.dirname, '..')

/** What is read of a `package.json`. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly files?: readonly string[]
  readonly repository: { readonly type: string; readonly url: string; readonly directory?: string }
  readonly exports: Readonly<Record<string, ExportTarget>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly publishConfig?: { readonly access?: string; readonly provenance?: boolean; readonly exports?: unknown }
  readonly [key: string]: unknown
}

/** A file as it is, or one for each way of loading it. */
export type ExportTarget =
  | string
  | Readonly<Record<string, string | { readonly types?: string; readonly default: string }>>

export interface WorkspacePackage {
  readonly name: string
  /** From the root, `packages/<folder>`. */
  readonly folder: string
  readonly manifest: Manifest
}

/** The packages of the workspace that are published, in the order of their folders. */
export function workspacePackages(): WorkspacePackage[] {
  return readdirSync(path.join(root, 'packages'))
    .sort()
    .map((name) => {
      const folder = `packages/${name}`
      const manifest: Manifest = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'))
      return { name: manifest.name, folder, manifest }
    })
    .filter(({ manifest }) => manifest['private'] !== true)
}

/**
 * Pack every package; they must be built.
 *
 * @param folder where the tarballs go
 * @returns the tarball of each package, by the package's name
 */
export function packAll(folder: string): Map<string, string> {
  mkdirSync(folder, { recursive: true })
  // The pnpm that the workspace brings with it, or, for those who have their own, the one on PATH.
  const filters = ['--filter', './packages/*', '--filter', '!@pctodl/reference-data']
  execFileSync('pnpm', ['--recursive', ...filters, 'pack', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PATH: `${pnpmBin}${path.delimiter}${process.env['PATH']}` },
  })
  return new Map(
    workspacePackages().map(({ name, manifest }) => [
      name,
      path.join(folder, `${name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`),
    ]),
  )
}
