import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = [
  libraryBuild({
    entry: { index: 'src/index.ts', virtual: 'src/virtual.ts', commands: 'src/commands.ts', cli: 'src/host/cli.ts' },
    clean: ['!programs/**'],
  }),
  // What answers as nvidia-smi is started often and must start fast: one file each, nothing to resolve.
  {
    entry: ['src/host/programs/nvidia-smi.ts', 'src/host/programs/nvidia-cuda-mps-control.ts'],
    outDir: 'dist/programs',
    format: ['cjs'],
    target: 'node20',
    platform: 'node',
    noExternal: [/.*/],
    clean: true,
  },
]

export default build
