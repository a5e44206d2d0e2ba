import { parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import {
  locationOf,
  type OptionReaders,
  readArg,
  readDuration,
  readInteger,
  readOptions,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import type { HostsSettings } from './settings.ts'

const maxTtl = 65_535

type HostsOptions = Pick<HostsSettings, 'ttl' | 'reverse' | 'reloadMs' | 'fallthrough'>

const defaults: HostsOptions = { ttl: 3600, reverse: true, reloadMs: 5000, fallthrough: undefined }

const options: OptionReaders<HostsOptions> = {
  fallthrough: (option) => ({ fallthrough: readFallthrough(option.args) }),
  no_reverse: () => ({ reverse: false }),
  reload: (option) => ({ reloadMs: readDuration(readArg(option)) }),
  ttl: (option) => ({ ttl: readInteger(readArg(option), { min: 1, max: maxTtl }) }),
}

/** Reads `hosts [FILE [ZONES…]] { [ADDRESS NAMES…]; ttl N; no_reverse; reload DURATION; fallthrough [ZONES…] }`. */
export function readHosts(directive: Directive, keys: readonly ServerKey[]): HostsSettings {
  const [file, ...zones] = directive.args
  const inline = directive.options.filter(isHostsLine)
  const others = directive.options.filter((option) => !isHostsLine(option))
  const settings = readOptions({ ...directive, options: others }, defaults, options)
  return {
    file: file?.text ?? '/etc/hosts',
    namesFile: file !== undefined,
    location: locationOf(directive.name),
    zones: zonesOr(zones, keys),
    inline: inline.map(({ name, args }) => [name, ...args].map(({ text }) => text).join(' ')),
    ...settings,
  }
}

/** Returns whether the option is a line of a hosts file: it begins with an address. */
function isHostsLine({ name }: Directive): boolean {
  return parseIp(name.text.replace(/%.*$/, '')) !== undefined
}
