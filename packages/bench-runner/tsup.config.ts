import { libraryBuild } from '../../tsup.base'

export default libraryBuild({ entry: ['src/index.ts', 'src/commands.ts', 'src/cli.ts', 'src/pctodl-run.ts'] })
