export type { Prediction, Predictor, TenantPrediction } from './predictor.js'
