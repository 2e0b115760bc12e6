import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  // `board-worker` is the program that makes all calls about one board; it lies beside the library.
  entry: ['src/index.ts', 'src/commands.ts', 'src/pctodld.ts', 'src/board-worker.ts'],
})

export default build
