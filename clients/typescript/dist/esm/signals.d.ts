/**
 * Calls a function when a signal aborts, at once if it already has. Returns a function that stops this. A signal
 * gets one listener, however many calls share it: Node.js warns about more than ten.
 */
export declare function onAbort(signal: AbortSignal | undefined, call: () => void): () => void;
