import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: ['src/index.ts', 'src/node.ts'],
})

export default build
