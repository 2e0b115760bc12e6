import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Manifest, root, workspacePackages } from '../scripts/pack-packages.js'
import { versionPackages } from '../scripts/version-packages.js'

// Before 1.0 a minor release may break the interface, so no change that is described as one makes a package 1.0.0.

let folder: string
/** Copies what changesets reads: manifests and changesets. */
function copyManifests(): void {
  const manifests = workspacePackages().map((workspacePackage) => `${workspacePackage.folder}/package.json`)
  for (const file of ['package.json', 'pnpm-workspace.yaml', '.changeset', ...manifests]) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true })
  }
}
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-versions-'))
  copyManifests()
})
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const names = workspacePackages().map(({ name }) => name)
const before = new Map(workspacePackages().map(({ name, manifest }) => [name, manifest.version]))
const manifests = () =>
  workspacePackages().map(
    (known): Manifest => JSON.parse(readFileSync(path.join(folder, known.folder, 'package.json'), 'utf8')),
  )
const versions = () => new Map(manifests().map(({ name, version }) => [name, version]))

function describeChange(name: string, bump: 'patch' | 'minor' | 'major', packages: readonly string[]): void {
  const lines = packages.map((each) => `'${each}': ${bump}`)
  writeFileSync(path.join(folder, '.changeset', `${name}.md`), `---\n${lines.join('\n')}\n---\n\nA change.\n`)
}

function withoutPendingChanges(): void {
  for (const file of readdirSync(path.join(folder, '.changeset'))) {
    if (file.endsWith('.md')) rmSync(path.join(folder, '.changeset', file))
  }
}

const minorOf = (version: string) => Number(version.split('.')[1])

describe('the next release', () => {
  it('stays below 1.0 with the changes that wait for it', () => {
    versionPackages(folder)
    for (const [name, version] of versions()) expect(version, name).toMatch(/^0\.\d+\.\d+$/)
  })

  it('stays below 1.0, one release after another, when what is loaded on demand changes its interface', () => {
    withoutPendingChanges()
    const onDemand = [
      ...new Set(manifests().flatMap(({ peerDependencies }) => Object.keys(peerDependencies ?? {}))),
    ].filter((name) => names.includes(name))
    expect(onDemand.length).toBeGreaterThan(1)
    for (const release of [1, 2]) {
      describeChange(`release-${release}`, 'minor', onDemand)
      versionPackages(folder)
      for (const [name, version] of versions()) {
        expect(version, name).toMatch(/^0\./)
        if (onDemand.includes(name)) expect(minorOf(version), name).toBe(minorOf(before.get(name)!) + release)
      }
    }
  })

  it('reaches those that stand on a changed package, whose range would leave it out', () => {
    withoutPendingChanges()
    describeChange('platform', 'minor', ['@pctodl/platform'])
    versionPackages(folder)
    const after = versions()
    for (const { name, dependencies = {} } of manifests()) {
      if (dependencies['@pctodl/platform'] !== undefined) expect(after.get(name), name).not.toBe(before.get(name))
    }
  })
})
