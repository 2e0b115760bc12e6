import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { packageFolder, referenceFiles } from './manifest.js'
import { contentOf, UnknownReferenceError } from './reference-file.js'

/**
 * Returns the path of a folder of unpacked reference files, for code that reads folders and paths itself:
 * `referenceFolder('zeus2')`. The files are unpacked once into the package's `node_modules/.cache`, under a name that
 * changes with the manifest. The folder appears only when it is complete.
 *
 * @throws UnknownReferenceError listing the known folders
 */
export function referenceFolder(name: string): string {
  const files = referenceFiles.filter((file) => file.name.startsWith(`${name}/`))
  if (files.length === 0) {
    throw new UnknownReferenceError(name, [...new Set(referenceFiles.map((file) => file.name.split('/')[0]!))])
  }
  const manifest = readFileSync(path.join(packageFolder, 'manifest.json'))
  const version = createHash('sha256').update(manifest).digest('hex').slice(0, 16)
  const cache = path.join(packageFolder, 'node_modules', '.cache', 'unpacked', version)
  const folder = path.join(cache, name)
  if (isFolder(folder)) return folder
  mkdirSync(path.dirname(folder), { recursive: true })
  const unpacked = mkdtempSync(`${folder}-`)
  for (const file of files) {
    const target = path.join(unpacked, file.name.slice(name.length + 1))
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, contentOf(file))
  }
  try {
    renameSync(unpacked, folder)
  } catch (error) {
    // If another process was faster, its folder has the same content.
    if (!isFolder(folder)) throw error
    rmSync(unpacked, { recursive: true })
  }
  return folder
}

const isFolder = (folder: string) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false
