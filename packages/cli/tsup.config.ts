import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({ entry: ['src/index.ts', 'src/pctodl.ts'] })

export default build
