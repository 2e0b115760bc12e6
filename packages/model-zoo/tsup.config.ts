import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: ['src/index.ts', 'src/node.ts', 'src/commands.ts', 'src/pctodl-export-onnx.ts'],
})

export default build
