import { setFlagsFromString } from 'node:v8'

const flag = '--initial-old-space-size='
/** MiB. The launcher starts `platnet agent` with the first one (scripts/platnet); threads serve, and collect as soon as they hold much. */
const sizes = { main: 96, threads: 32 } as const

/** Returns Node's flags for an agent that this process starts: what its first lists leave is kept, so that collecting it early is lost time. */
export function agentFlags(flags: readonly string[]): readonly string[] {
  return flags.map((each) => (each.startsWith(flag) ? `${flag}${sizes.main}` : each))
}

/** Lets threads that this process starts from now on have small heaps; its own is not changed. */
export function limitHeapsOfThreads(): void {
  setFlagsFromString(`${flag}${sizes.threads}`)
}
