import { hash } from 'node:crypto'
import { loopbackCidr } from '../../model/ip.ts'
import { checkInterface } from '../render.ts'
import type { LocalTraffic, ProxyRuleSettings } from '../settings.ts'
import { masqueradeMark } from '../static-chains.ts'
import { addressFlags, maxEndpoints, renderAddressData, renderClassid } from './address-data.ts'
import { stickyChains } from './render-sticky.ts'
import { type BalanceKind, chain, type Dialect, dialectOf, keyOf } from './rule-text.ts'
import { admittedSet, balanceSets, hairpinSet, healthSet, refusalSets, setSpecs } from './set-specs.ts'
import { type NftTable, type SetSpec, stateSet, type TableShape } from './types.ts'

/** The table of one family: everything but the elements of Services. */
export function renderTable(settings: ProxyRuleSettings, shape: TableShape): NftTable {
  const { family } = settings
  const dialect = dialectOf(family)
  const sets = setSpecs(family, shape.timeouts)
  const lines = [
    `set ${stateSet} { type mark; }`,
    ...sets.map(declareSet),
    ...drawChains(shape.drawUpTo),
    chain('mark-masq', [`meta mark set meta mark or ${hex(masqueradeMark(settings))}`]),
    ...stickyChains(dialect, shape.timeouts, settings.affinity?.isHard === true),
    ...chooseChains(dialect, shape.timeouts.length > 0),
    ...serviceChains(dialect, settings.localTraffic),
    ...natChains(dialect, settings),
    ...filterChains(dialect, settings),
  ]
  const text = `table ${dialect.table} platnet {\n${lines.map((line) => `\t${line}\n`).join('')}}\n`
  return { family, name: 'platnet', text, version: hash('sha256', text, 'hex').slice(0, 16), sets }
}

function declareSet({ name, key, data, isInterval }: SetSpec): string {
  const types = [key, data].filter((fields) => fields.length > 0).map((fields) => fields.join(' . '))
  return `${data.length > 0 ? 'map' : 'set'} ${name} { type ${types.join(' : ')};${isInterval ? ' flags interval;' : ''} }`
}

/** Every number of endpoints up to the given one leads to the chain that draws a place from 1 to it. */
function drawChains(drawUpTo: number): readonly string[] {
  const numbers = Array.from({ length: drawUpTo }, (_, index) => index + 1)
  const verdicts = numbers.map((number) => `${renderClassid(number)} : jump draw-${number}`)
  return [
    ...numbers.map((number) => chain(`draw-${number}`, [`meta priority set numgen random mod ${number} offset 1`])),
    `map draw { type classid : verdict; elements = { ${verdicts.join(', ')} } }`,
  ]
}

function chooseChains(dialect: Dialect, isSticky: boolean): readonly string[] {
  const kinds = Object.keys(balanceSets) as readonly BalanceKind[]
  return kinds.map((kind) => {
    const translate = `dnat ${dialect.to} to ${keyOf(dialect, kind)} . meta priority map @${balanceSets[kind].endpoints}`
    return chain(`choose-${kind}`, [
      ...(isSticky ? [`${hasFlag('sticky')} goto sticky-${kind}`] : []),
      `meta priority and ${renderClassid(maxEndpoints)} vmap @draw`,
      translate,
      // A commit since the number was looked up may have left fewer places, but never none.
      `meta priority set ${renderClassid(1)} ${translate}`,
    ])
  })
}

function hasFlag(flag: keyof typeof addressFlags): string {
  const bit = renderAddressData(addressFlags[flag], 0)
  return `meta priority and ${bit} == ${bit}`
}

function serviceChains(dialect: Dialect, localTraffic: LocalTraffic | undefined): readonly string[] {
  const key = keyOf(dialect, 'address')
  return [
    chain('from-local', fromLocal(dialect, localTraffic, 'address', 'local-address')),
    chain('port-from-local', fromLocal(dialect, localTraffic, 'port', 'local-port')),
    chain('service', [
      `${hasFlag('guarded')} ${key} . ${dialect.source} != @${admittedSet} return`,
      ...(localTraffic === undefined
        ? []
        : [`${hasFlag('masqueradeOthers')} ${isLocal(dialect, localTraffic, false)} jump mark-masq`]),
      `${hasFlag('masquerade')} jump mark-masq`,
      `${hasFlag('local')} goto from-local`,
      'goto choose-address',
    ]),
    chain('service-port', [
      `${hasFlag('masquerade')} jump mark-masq`,
      `${hasFlag('local')} goto port-from-local`,
      'goto choose-port',
    ]),
  ]
}

/** Pods and this node reach every endpoint of an external policy Local; the others those of this node, their source kept. */
function fromLocal(
  dialect: Dialect,
  localTraffic: LocalTraffic | undefined,
  kind: 'address' | 'port',
  localKind: 'local-address' | 'local-port',
): readonly string[] {
  return [
    ...(localTraffic === undefined ? [] : [`${isLocal(dialect, localTraffic, true)} goto choose-${kind}`]),
    'fib saddr type local jump mark-masq',
    `fib saddr type local goto choose-${kind}`,
    `meta priority set ${keyOf(dialect, localKind)} map @${balanceSets[localKind].counts} goto choose-${localKind}`,
  ]
}

function isLocal({ source }: Dialect, detector: LocalTraffic, isWanted: boolean): string {
  const not = isWanted ? '' : '!= '
  if (detector.kind === 'source') return `${source} ${not}${detector.cidr}`
  // A name has at most 15 characters, so a prefix of 15 is a name; nft refuses a wildcard behind it.
  const wildcard = detector.isPrefix && detector.name.length < 15 ? '*' : ''
  return `iifname ${not}"${checkInterface(detector.name)}${wildcard}"`
}

function natChains(dialect: Dialect, settings: ProxyRuleSettings): readonly string[] {
  const entry = [
    `meta priority set ${keyOf(dialect, 'address')} map @${balanceSets.address.counts} jump service`,
    ...nodeAddresses(dialect, settings, true).map(
      (match) =>
        `${match} meta priority set ${keyOf(dialect, 'port')} map @${balanceSets.port.counts} goto service-port`,
    ),
  ]
  const mark = hex(masqueradeMark(settings))
  const masquerade = (settings.randomFully ?? true) ? 'masquerade fully-random' : 'masquerade'
  return [
    chain('nat-prerouting', ['type nat hook prerouting priority -100', ...entry]),
    chain('nat-output', ['type nat hook output priority -100', ...entry]),
    // The bit is cleared, so that a packet that comes round again (a tunnel, a bridge) is not masqueraded twice.
    chain('masquerade-marked', [`meta mark set meta mark xor ${mark}`, masquerade]),
    chain('nat-postrouting', [
      'type nat hook postrouting priority 100',
      'ct status dnat meta priority set none',
      `meta mark and ${mark} == ${mark} goto masquerade-marked`,
      `ct status dnat ${dialect.source} . ${dialect.destination} @${hairpinSet} ${masquerade}`,
    ]),
  ]
}

/** Matches of the addresses where node ports are open; a packet that came in to this node needs no lookup for that. */
function nodeAddresses(
  { destination }: Dialect,
  { family, nodePortAddresses }: ProxyRuleSettings,
  asksForLocal: boolean,
): readonly string[] {
  if (nodePortAddresses === undefined) {
    const network = loopbackCidr(family).replace('/128', '')
    return [`${destination} != ${network}${asksForLocal ? ' fib daddr type local' : ''}`]
  }
  return nodePortAddresses.length === 0 ? [] : [`${destination} { ${nodePortAddresses.join(', ')} }`]
}

function filterChains(dialect: Dialect, settings: ProxyRuleSettings): readonly string[] {
  const refuse = (where: keyof typeof refusalSets) => {
    const key = keyOf(dialect, where === 'port' ? 'port' : 'address')
    const { reject, drop } = refusalSets[where]
    return chain(`verdicts-${where}`, [
      `${key} @${drop} drop`,
      `${key} @${reject} meta l4proto tcp reject with tcp reset`,
      `${key} @${reject} reject`,
    ])
  }
  const mark = hex(masqueradeMark(settings))
  return [
    refuse('cluster'),
    refuse('external'),
    refuse('port'),
    chain('verdicts-services', [
      `meta mark and ${mark} == ${mark} return`,
      'jump verdicts-cluster',
      'goto verdicts-external',
    ]),
    chain('verdicts-input', [
      `tcp dport @${healthSet} accept`,
      ...nodeAddresses(dialect, settings, false).map((match) => `${match} jump verdicts-port`),
      'goto verdicts-external',
    ]),
    // The rules of iptables, which come after this, accept what is marked: a packet that goes back to its sender too.
    chain('verdicts-forward', [
      `ct status dnat ${dialect.source} . ${dialect.destination} @${hairpinSet} jump mark-masq`,
      'goto verdicts-services',
    ]),
    chain('filter-forward', [
      'type filter hook forward priority -1',
      // Of an established connection each packet passes this one rule.
      settings.dropInvalid === false
        ? 'ct state new jump verdicts-forward'
        : 'ct state vmap { new : jump verdicts-forward, invalid : drop }',
    ]),
    chain('filter-output', ['type filter hook output priority 0', 'ct state new jump verdicts-services']),
    chain('filter-input', ['type filter hook input priority 0', 'ct state new jump verdicts-input']),
  ]
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
