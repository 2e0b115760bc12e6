export { planAsPublished } from './published-plan.js'
