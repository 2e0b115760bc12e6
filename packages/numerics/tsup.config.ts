import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({ entry: ['src/index.ts', 'src/programs.ts'] })

export default build
