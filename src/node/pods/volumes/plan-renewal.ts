/** This node renews a token after this share of its lifetime, like a kubelet. */
const usedShare = 0.8
const maxAgeSeconds = 24 * 3600
/** Spreads the requests of pods that began together. */
const jitterSeconds = 10
/** Limits the rate of requests for tokens with a short lifetime. */
const leastSeconds = 10

/** The time from the issue of a token to its renewal; `chance` is in [0, 1). Pure. */
export function renewalMs(seconds: number, chance: number): number {
  const dueSeconds = Math.min(seconds * usedShare, maxAgeSeconds) - chance * jitterSeconds
  return Math.round(Math.max(leastSeconds, dueSeconds) * 1000)
}
