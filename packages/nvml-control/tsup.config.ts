import { libraryBuild } from '../../tsup.base'

export default libraryBuild({
  // `restore-journal` is the program that a lease's watchdog becomes; it lies beside the library.
  entry: ['src/index.ts', 'src/commands.ts', 'src/pctodl-gpu.ts', 'src/restore-journal.ts'],
  // `shims`: the library finds that program from where its own file lies, in the CommonJS build too.
  shims: true,
})
