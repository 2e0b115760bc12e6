export { NodeService, type NodeServiceOptions } from './node-service.js'
export { type Peer, peerOf } from './peer-credentials.js'
export { loadPolicy, type Policy, parsePolicy, type Rule } from './policy.js'
