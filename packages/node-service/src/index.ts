export { NodeService } from './node-service.js'
