export { modelOf, ParameterFileError, parameterFile } from './cli/parameter-folder.js'
