import { type Command, InvalidArgumentError } from 'commander'
import { runDemo } from '../demo/index.ts'

/** `platnet demo`. */
export function addDemoCommand(program: Command, { finish }: { readonly finish: (code: 1) => void }): void {
  program
    .command('demo')
    .description(
      'shows what Platnet does, with real packets, in namespaces of its own; nothing on this host is touched',
    )
    .option('--keep', 'leaves it running until Ctrl-C and prints how to look around', false)
    .option('--seconds <number>', 'how long traffic runs at least in each step that needs it', parseSeconds, 6)
    .action(async ({ keep, seconds }: { keep: boolean; seconds: number }) => {
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      const held = await runDemo({ keep, seconds, signal: stop.signal })
      if (!held) finish(1)
    })
}

function parseSeconds(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('expected a whole number from 1 to 99.')
}
