export { segments } from './cli/segments.js'
