import { libraryBuild } from '../../tsup.base'

export default libraryBuild({ entry: ['src/index.ts', 'src/commands.ts', 'src/pctodl-hetero.ts'] })
