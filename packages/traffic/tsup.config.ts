import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({ entry: ['src/index.ts', 'src/traces.ts'] })

export default build
