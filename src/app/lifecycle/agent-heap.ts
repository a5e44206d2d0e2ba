import { setFlagsFromString } from 'node:v8'

/**
 * MiB. The launcher starts `platnet agent` with those of `main` (scripts/platnet), for its first lists: most of what they leave is kept, so that collecting it
 * early is lost time, and each collection of young objects waits for its helpers, which are slow while the server works. At rest both are given back
 * (src/loop/idle-memory.ts). Threads serve, and collect as soon as they hold much.
 */
const sizes = {
  '--initial-old-space-size=': { main: 96, threads: 32 },
  '--max-semi-space-size=': { main: 16, threads: 4 },
} as const

/** Returns Node's flags for an agent that this process starts. */
export function agentFlags(flags: readonly string[]): readonly string[] {
  return flags.map((each) => {
    const found = Object.entries(sizes).find(([flag]) => each.startsWith(flag))
    return found === undefined ? each : `${found[0]}${found[1].main}`
  })
}

/** Lets threads that this process starts from now on have small heaps; its own is not changed. */
export function limitHeapsOfThreads(): void {
  for (const [flag, { threads }] of Object.entries(sizes)) setFlagsFromString(`${flag}${threads}`)
}
