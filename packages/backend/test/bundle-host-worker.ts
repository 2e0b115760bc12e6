import path from 'node:path'
import { build } from 'tsup'

/** The tenants' program of a simulated host as one file, for it starts once for each tenant. @returns the file */
export async function bundleHostWorker(folder: string): Promise<string> {
  await build({
    config: false,
    silent: true,
    entry: { 'host-worker': path.join(import.meta.dirname, 'host-worker.ts') },
    format: ['cjs'],
    outDir: folder,
    noExternal: [/.*/],
    esbuildOptions: (options) => {
      options.conditions = ['@pctodl/source']
    },
    outExtension: () => ({ js: '.cjs' }),
  })
  return path.join(folder, 'host-worker.cjs')
}
