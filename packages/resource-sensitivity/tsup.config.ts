import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: ['src/index.ts', 'src/engine.ts', 'src/slurm.ts', 'src/commands.ts', 'src/pctodl-sensitivity.ts'],
})

export default build
