import type { SourceLocation } from '../corefile/errors.ts'
import type { LoadedCorefile } from './corefile-loader.ts'
import { namedFiles } from './named-files.ts'

/** Returns the options of a Corefile that are checked and have no effect, each with its line, so that the log names them. */
export function optionsWithoutEffect({
  corefile,
  rights,
}: Pick<LoadedCorefile, 'corefile' | 'rights'>): readonly string[] {
  const ignored = corefile.blocks.flatMap(({ kubernetes }) => kubernetes?.ignored ?? [])
  const idle = corefile.blocks.flatMap((block) => block.ignored)
  const unread = rights.allowed === undefined ? [] : namedFiles(corefile).filter(({ isDefault }) => isDefault)
  return [
    ...ignored.map(
      ({ name, location }) =>
        `${at(location)} - kubernetes: ${name} has no effect: the agent has its own connection to the API`,
    ),
    ...idle.map(({ name, location }) => `${at(location)} - ${name}: this plugin of CoreDNS has no effect here`),
    ...unread.map(
      ({ plugin, path, location }) => `${at(location)} - ${plugin}: ${path} of the node is not read for a ConfigMap`,
    ),
  ]
}

function at({ file, line }: SourceLocation): string {
  return `${file}:${line}`
}
