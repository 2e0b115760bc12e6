import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  entry: [
    'src/index.ts',
    'src/node.ts',
    'src/serving.ts',
    'src/commands.ts',
    'src/pctodl-predict.ts',
    'src/pctodl-fit.ts',
    'src/pctodl-add-network.ts',
  ],
})

export default build
