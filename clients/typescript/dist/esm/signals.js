/** The functions to call when a signal aborts. */
const watched = new WeakMap();
/**
 * Calls a function when a signal aborts, at once if it already has. Returns a function that stops this. A signal
 * gets one listener, however many calls share it: Node.js warns about more than ten.
 */
export function onAbort(signal, call) {
    if (!signal)
        return () => { };
    if (signal.aborted) {
        call();
        return () => { };
    }
    let calls = watched.get(signal);
    if (!calls) {
        const all = (calls = new Set());
        watched.set(signal, all);
        signal.addEventListener("abort", () => all.forEach((each) => each()), { once: true });
    }
    const own = calls.add(call);
    return () => own.delete(call);
}
