/** The virtual clock needs this function, which exists in Node but not in browsers. */
declare const setImmediate: (callback: () => void) => void
