export { hostCli as sim } from './host-cli.js'
