/**
 * Packs every package of the workspace as `npm publish` would send it. pnpm makes the tarballs, because it resolves
 * `workspace:` versions.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pnpmBin } from './bring-pnpm.mjs'

export const root: string = path.resolve(import.meta.dirname, '..')

/** The fields of a `package.json` that the scripts read. */
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

/** A single file, or one file for each way of loading. */
export type ExportTarget =
  | string
  | Readonly<Record<string, string | { readonly types?: string; readonly default: string }>>

export interface WorkspacePackage {
  readonly name: string
  /** Path from the repository root, `packages/<folder>`. */
  readonly folder: string
  readonly manifest: Manifest
}

/** All published packages of the workspace, sorted by folder. */
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
 * Packs every package. The packages must be built.
 *
 * @param folder folder for the tarballs
 * @returns the tarball of each package, by package name
 */
export function packAll(folder: string): Map<string, string> {
  mkdirSync(folder, { recursive: true })
  // pnpm is the one that the workspace installed, or else the one on PATH.
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
