import { maxEndpoints, renderClassid } from './address-data.ts'
import { type BalanceKind, chain, type Dialect, isPort, keyOf } from './rule-text.ts'
import { balanceSets, clientSets, stickySet } from './set-specs.ts'

/** More are not remembered; they are balanced as if there were no affinity. */
const maxClients = 1_048_576

/** Clients' hashes are the same in all rules; a client that finds another with its hash shares that one's endpoint, no more. */
const hashSeed = '0x706c6174'

/**
 * Session affinity: the clients of each destination and the chains that find, remember and forget them. Nothing at all where no
 * timeout is in use.
 */
export function stickyChains(dialect: Dialect, timeouts: readonly number[], isHard: boolean): readonly string[] {
  if (timeouts.length === 0) return []
  const kinds = Object.keys(balanceSets) as readonly BalanceKind[]
  return [
    ...Object.values(clientSets).map(
      (name) =>
        `map ${name} { type ${clientType(dialect, name)} : classid; size ${maxClients}; flags dynamic,timeout; }`,
    ),
    ...kinds.flatMap((kind) => [
      ...timeouts.flatMap((timeout) => chainsOf(dialect, kind, timeout, isHard)),
      chain(`sticky-${kind}`, [
        ...timeouts.map((timeout) => {
          const set = stickySet(isPort(kind) ? 'port' : 'address', timeout)
          return `${keyOf(dialect, kind)} @${set} goto sticky-${kind}-${timeout}`
        }),
      ]),
    ]),
  ]
}

/**
 * A client that is known goes to its endpoint. If that is gone, the client is forgotten and chooses like a new one. A destination
 * that lost places since the number was drawn still has the first.
 */
function chainsOf(dialect: Dialect, kind: BalanceKind, timeout: number, isHard: boolean): readonly string[] {
  const { counts, endpoints, slots } = balanceSets[kind]
  const key = keyOf(dialect, kind)
  const clients = isPort(kind) ? clientSets.port : clientSets.address
  const client = clientKey(dialect, kind)
  const name = `${kind}-${timeout}`
  const translate = `dnat ${dialect.to} to ${key} . meta priority map @${endpoints}`
  const takeSlot = `meta priority set ${key} . meta priority map @${slots} goto remember-${name}`
  return [
    chain(`remember-${name}`, [`update @${clients} { ${client} timeout ${timeout}s : meta priority }`, translate]),
    chain(`known-${name}`, [
      isHard ? translate : `jump remember-${name}`,
      `delete @${clients} { ${client} : meta priority }`,
    ]),
    chain(`sticky-${name}`, [
      ...findClient(dialect, clients, client).map((rule, index, { length }) =>
        index === length - 1 ? `${rule} jump known-${name}` : rule,
      ),
      `meta priority set ${key} map @${counts}`,
      `meta priority and ${renderClassid(maxEndpoints)} vmap @draw`,
      takeSlot,
      `meta priority set ${renderClassid(1)}`,
      takeSlot,
    ]),
  ]
}

/** The lookup of a hash takes two rules: nft 1.0.6 knows no hash as the key of a map. */
function findClient({ family }: Dialect, clients: string, client: string): readonly string[] {
  if (family === 'IPv4') return [`meta priority set ${client} map @${clients}`]
  return [`meta priority set ${client}`, `meta priority set meta priority map @${clients}`]
}

function clientType({ family }: Dialect, clients: 'clients' | 'port-clients'): string {
  if (family === 'IPv6') return 'classid'
  return `ipv4_addr . ${clients === 'clients' ? 'ipv4_addr . ' : ''}inet_proto . inet_service`
}

/** IPv6: nft 1.0.6 fails an assertion where a rule adds to a map whose keys have more than 16 bytes. */
function clientKey(dialect: Dialect, kind: BalanceKind): string {
  const key = `${dialect.source} . ${keyOf(dialect, kind)}`
  return dialect.family === 'IPv4' ? key : `jhash ${key} mod 4294967295 seed ${hashSeed}`
}
