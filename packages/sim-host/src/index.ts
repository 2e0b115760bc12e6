export { SimulatedHost } from './simulated-host.js'
