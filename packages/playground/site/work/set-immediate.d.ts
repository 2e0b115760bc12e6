/** What a virtual clock asks of its surroundings; browsers have none of their own. */
declare function setImmediate(callback: () => void): void
