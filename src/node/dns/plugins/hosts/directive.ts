import { parseIp } from '../../../../model/ip.ts'
import type { Directive } from '../../corefile/blocks.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import { locationOf, readArg, readDuration, readInteger, unknownOption } from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import type { HostsSettings } from './settings.ts'

const defaultTtl = 3600
const maxTtl = 65_535
const defaultReloadMs = 5000

/** Reads `hosts [FILE [ZONES…]] { [ADDRESS NAMES…]; ttl N; no_reverse; reload DURATION; fallthrough [ZONES…] }`. */
export function readHosts(directive: Directive, keys: readonly ServerKey[]): HostsSettings {
  const [file, ...zones] = directive.args
  const inline: string[] = []
  let ttl = defaultTtl
  let reverse = true
  let reloadMs = defaultReloadMs
  let fallthrough: Fallthrough
  for (const option of directive.options) {
    const { text } = option.name
    if (parseIp(text.replace(/%.*$/, '')) !== undefined)
      inline.push([text, ...option.args.map((arg) => arg.text)].join(' '))
    else if (text === 'fallthrough') fallthrough = readFallthrough(option.args)
    else if (text === 'ttl') ttl = readInteger(readArg(option), { min: 1, max: maxTtl })
    else if (text === 'reload') reloadMs = readDuration(readArg(option))
    else if (text === 'no_reverse') reverse = false
    else throw unknownOption(option, 'hosts')
  }
  return {
    file: file?.text ?? '/etc/hosts',
    namesFile: file !== undefined,
    location: locationOf(directive.name),
    zones: zonesOr(zones, keys),
    inline,
    ttl,
    reverse,
    reloadMs,
    fallthrough,
  }
}
