export { isPublishedFolder, modelOf, parameterFile } from './parameter-folder.js'
export { loadPublishedParameters } from './published/load-published-parameters.js'
export { ParameterFileError } from './published/parameter-file-error.js'
