import type { Corefile } from '../corefile/settings.ts'

/** The options of a Corefile that are checked and do nothing here, each with its line, so that nobody waits for them. */
export function optionsWithoutEffect({ blocks }: Corefile): readonly string[] {
  const ignored = blocks.flatMap(({ kubernetes }) => kubernetes?.ignored ?? [])
  return ignored.map(({ name, place }) => `${place.file}:${place.line} - kubernetes: ${name} is the agent's business`)
}
