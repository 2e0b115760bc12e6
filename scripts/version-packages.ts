/** Computes the versions of the next release: runs `changeset version` on a copy of the repository. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import { root } from './pack-packages.js'

/** Applies the changesets of a copy, so that its manifests have the versions of the release. */
export function versionPackages(folder: string): void {
  const changeset = createRequire(path.join(root, 'package.json')).resolve('@changesets/cli/bin.js')
  execFileSync(process.execPath, [changeset, 'version'], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
}
