import path from 'node:path'
import { buildFromSources } from '../../../test/build-from-sources.js'

/** The tenants' program of a simulated host as one file, for it starts once for each tenant. @returns the file */
export async function bundleHostWorker(folder: string): Promise<string> {
  const entries = { 'host-worker': path.join(import.meta.dirname, '../../sim-host/src/programs/pctodl-host-worker.ts') }
  await buildFromSources(folder, { entries, format: 'cjs', extension: '.cjs' })
  return path.join(folder, 'host-worker.cjs')
}
