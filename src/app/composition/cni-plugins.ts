import { resolve } from 'node:path'
import { offerPlugins } from '../../node/cni/index.ts'

/** The folder of the repository that holds `platnet-gate` and the default list. */
export const shippedCniDir = resolve(import.meta.dirname, '../../../cni')

/** Folders in which Debian and Fedora packages install the reference plugins. */
export const packagedPluginDirs = ['/usr/lib/cni', '/usr/libexec/cni']

/** Links packaged plugins and `platnet-gate` into the first plugin folder. Resolves with the names of new links. */
export async function offerPackagedPlugins([target]: readonly string[]): Promise<readonly string[]> {
  return target === undefined ? [] : offerPlugins([...packagedPluginDirs, shippedCniDir], target)
}
