export { type PublishedPlan, planAsPublished } from './published-plan.js'
