/**
 * Terms per network: its part of the prediction, times 1, batch, clock, share, contention, time off the device,
 * tenants, batch squared.
 */
export const NETWORK_TERMS = 8
/** Terms of the mix, the idle part first. */
export const MIX_TERMS = 24
/**
 * Terms of the residual's variance: 1, the concentration of the prediction on few kinds (network and batch), and that
 * times the number of tenants.
 */
export const RESIDUAL_TERMS = 3
