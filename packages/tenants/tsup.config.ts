import { libraryBuild } from '../../tsup.base'

export default [
  libraryBuild({ clean: ['!programs/**'] }),
  // The worker is a program of its own, and only ever run as ESM.
  libraryBuild({
    entry: ['src/worker/onnx-worker.ts'],
    outDir: 'dist/programs',
    format: ['esm'],
    dts: false,
    splitting: false,
  }),
]
