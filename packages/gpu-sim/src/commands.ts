export { hostCli as sim } from './host/host-cli.js'
