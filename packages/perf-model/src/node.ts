export { ParameterFileError } from './parameter-file-error.js'
export { modelOf, parameterFile } from './parameter-folder.js'
