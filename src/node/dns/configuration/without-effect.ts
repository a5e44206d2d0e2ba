import type { Corefile, ServerBlock } from '../corefile/settings.ts'

/** The options of a Corefile that are understood and do nothing here, each with its line, so that nobody waits for them. */
export function optionsWithoutEffect({ blocks }: Corefile): readonly string[] {
  return blocks.flatMap((block) =>
    ofBlock(block).map((option) => `${block.place.file}:${block.place.line} - ${option}`),
  )
}

function ofBlock({ forward, errors }: ServerBlock): readonly string[] {
  const found = {
    'errors: consolidate, at most ten lines a second are told': (errors?.consolidate.length ?? 0) > 0,
    'forward: max_age': forward.some(({ maxAgeMs }) => maxAgeMs > 0),
    'forward: max_connect_attempts': forward.some(({ maxConnectAttempts }) => maxConnectAttempts !== undefined),
    'forward: source_address': forward.some(({ sourceAddress }) => sourceAddress !== undefined),
  }
  return Object.entries(found).flatMap(([option, isSet]) => (isSet ? [option] : []))
}
