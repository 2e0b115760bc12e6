/** Computes the versions of the next release: runs `changeset version` on a copy of the repository. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { root, workspacePackages } from './pack-packages.js'

/** Copies what changesets reads: manifests and changesets. */
export function copyManifests(folder: string): void {
  for (const file of ['package.json', 'pnpm-workspace.yaml', '.changeset']) copyInto(folder, file)
  for (const workspacePackage of workspacePackages()) copyInto(folder, `${workspacePackage.folder}/package.json`)
}

function copyInto(folder: string, file: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
  cpSync(path.join(root, file), path.join(folder, file), { recursive: true })
}

/** Applies the changesets of a copy, so that its manifests have the versions of the release. */
export function versionPackages(folder: string): void {
  const changeset = createRequire(path.join(root, 'package.json')).resolve('@changesets/cli/bin.js')
  execFileSync(process.execPath, [changeset, 'version'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
}
