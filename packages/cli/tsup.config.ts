import { libraryBuild } from '../../tsup.base'

export default libraryBuild({ entry: ['src/index.ts', 'src/pctodl.ts'] })
