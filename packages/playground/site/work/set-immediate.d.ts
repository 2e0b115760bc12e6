/** What a virtual clock asks of its surroundings; Node has it, browsers do not. */
declare const setImmediate: (callback: () => void) => void
