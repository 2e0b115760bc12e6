import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type BuildOptions, build } from 'esbuild'

/** What is said of a build: entries by the names of their programs, and how they are bundled. */
export interface SourceBuild extends Pick<BuildOptions, 'banner' | 'external' | 'logOverride' | 'splitting'> {
  readonly entries: Readonly<Record<string, string>>
  readonly format: 'esm' | 'cjs'
  /** Of the programs' files, such as `.mjs`. */
  readonly extension: string
}

/**
 * Sources as programs that start fast: a test must not depend on an earlier build. By esbuild itself, for to start tsup costs
 * three times as much as to build.
 *
 * @param folder where they go
 */
export async function buildFromSources(
  folder: string,
  { entries, format, extension, ...rest }: SourceBuild,
): Promise<void> {
  await build({
    bundle: true,
    platform: 'node',
    target: 'node20',
    conditions: ['@pctodl/source'],
    splitting: format === 'esm',
    logLevel: 'error',
    entryPoints: { ...entries },
    format,
    outdir: folder,
    outExtension: { '.js': extension },
    ...rest,
  })
}

/** A new folder within a package's `node_modules`, where programs find what the package depends on; every user may read it. */
export function programsFolder(packageFolder: string, name: string): { readonly folder: string; remove(): void } {
  const scratch = path.join(packageFolder, 'node_modules')
  mkdirSync(scratch, { recursive: true })
  const folder = mkdtempSync(path.join(scratch, `.${name}-`))
  chmodSync(folder, 0o755)
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}
