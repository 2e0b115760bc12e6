import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: ['src/index.ts', 'src/node.ts', 'src/serving.ts', 'src/llm.ts', 'src/commands.ts'],
})

export default build
