import { libraryBuild, type PackageBuild } from '../../tsup.base'

const build: PackageBuild = libraryBuild({
  // `restore-journal` is the program that a lease's watchdog becomes; it lies beside the library.
  entry: ['src/index.ts', 'src/commands.ts', 'src/restore-journal.ts'],
})

export default build
