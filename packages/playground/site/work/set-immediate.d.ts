/** A virtual clock needs this function; Node has it, browsers do not. */
declare const setImmediate: (callback: () => void) => void
