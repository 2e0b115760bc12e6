import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = [
  libraryBuild({ clean: ['!programs/**'] }),
  // Workers are programs of their own: only ever run, as ESM, and without declarations.
  libraryBuild({
    entry: ['src/worker/onnx-worker.ts', 'src/worker/timed-worker.ts'],
    outDir: 'dist/programs',
    format: ['esm'],
    splitting: false,
    onSuccess: async () => {},
  }),
]

export default build
