import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: ['src/index.ts', 'src/server.ts', 'src/commands.ts'],
})

export default build
