import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = [
  libraryBuild({
    entry: ['src/index.ts', 'src/commands.ts'],
    clean: ['!programs/**'],
  }),
  // What answers as nvidia-smi is started often and must start fast: one file each, nothing to resolve.
  {
    entry: [
      'src/programs/nvidia-smi.ts',
      'src/programs/nvidia-cuda-mps-control.ts',
      'src/programs/pctodl-host-worker.ts',
    ],
    outDir: 'dist/programs',
    format: ['cjs'],
    target: 'node20',
    platform: 'node',
    noExternal: [/.*/],
    clean: true,
  },
]

export default build
