import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: [...['index', 'engine', 'job-profile', 'node', 'commands'].map((name) => `src/${name}.ts`)],
})

export default build
