import { libraryBuild, type PackageBuild } from '../../tsup.base'
import { buildPage } from './build-page'

const library = libraryBuild({ entry: ['src/index.ts', 'src/commands.ts'] })

const build: PackageBuild = {
  ...library,
  onSuccess: async () => {
    await (library.onSuccess as () => Promise<void>)()
    await buildPage('dist/site')
  },
}

export default build
