import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: [
    'src/index.ts',
    'src/dvfs/index.ts',
    'src/training/index.ts',
    'src/colocation/index.ts',
    'src/segments/index.ts',
    'src/scheduling/index.ts',
    'src/commands.ts',
  ],
})

export default build
