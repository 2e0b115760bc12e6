export { modelOf, ParameterFileError, parameterFile } from './parameter-folder.js'
