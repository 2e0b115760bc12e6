import { defineConfig } from 'tsup'
import { libraryBuild } from '../../tsup.base'

export default [
  // `shims`: host mode finds its C sources from where its own file lies, in the CommonJS build too.
  libraryBuild({
    entry: { index: 'src/index.ts', commands: 'src/commands.ts', cli: 'src/host/cli.ts' },
    shims: true,
    clean: ['!programs/**'],
  }),
  // What answers as nvidia-smi is started often and must start fast: one file each, nothing to resolve.
  defineConfig({
    entry: ['src/host/programs/nvidia-smi.ts', 'src/host/programs/nvidia-cuda-mps-control.ts'],
    outDir: 'dist/programs',
    format: ['cjs'],
    target: 'node20',
    platform: 'node',
    noExternal: [/.*/],
    clean: true,
  }),
]
