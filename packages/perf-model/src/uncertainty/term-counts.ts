/** Terms of a network: its part of what is predicted, times 1, batch, clock, share, contention, time off the device, tenants, batch squared. */
export const NETWORK_TERMS = 8
/** Terms of the mix, the idle part first. */
export const MIX_TERMS = 24
/** What the variance of the rest is made of: 1, how little of the whole is of another network or batch, and that times the number of tenants. */
export const RESIDUAL_TERMS = 3
