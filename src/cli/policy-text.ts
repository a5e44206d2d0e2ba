import type {
  AddressSpan,
  Direction,
  EffectRow,
  GroupedPods,
  MatrixRow,
  PolicyEffect,
  PolicyMatrix,
  PortSet,
  Reach,
} from '../app/commands/policy.ts'
import { addressBits, ipToBigInt } from '../model/ip.ts'

/** Limits of what a person is shown; `-o json` has all. */
const [maxRows, maxNames, maxSpans, maxPorts] = [40, 5, 5, 12]

/** Renders who reaches whom: one block for each group of pods, its peers gathered by what they reach. */
export function renderMatrix({ namespace, groups, rows }: PolicyMatrix): string {
  const pods = rows.reduce((sum, { group }) => sum + (groups[group]?.pods.length ?? 0), 0)
  return joinBlocks(
    [
      `Namespace ${namespace}: ${count(pods, 'pod')}, ${count(rows.length, 'group')} of pods that no policy tells apart.`,
    ],
    rows.map((row) => matrixBlock(row, groups)),
  )
}

/** Renders what would change: one block for each group of pods that gains or loses. */
export function renderEffect({ policies, groups, rows }: PolicyEffect): string {
  const head = policies.map(({ policy, change, pods, isolates }) => {
    const verb = change === 'create' ? 'is new' : 'replaces the one of its name'
    const direction = isolates.length === 0 ? 'nothing' : isolates.join(' and ')
    return `${policy} ${verb}: it selects ${count(pods, 'pod')} and isolates ${direction}.`
  })
  const summary = rows.length === 0 ? 'Nothing would change for any pod.' : 'It would change (before -> after):'
  return joinBlocks(
    [...head, summary],
    rows.map((row) => effectBlock(row, groups)),
  )
}

function joinBlocks(head: readonly string[], blocks: readonly (readonly string[])[]): string {
  const more = blocks.length - maxRows
  const shown = blocks.slice(0, maxRows).map((lines) => `${lines.join('\n')}\n`)
  const rest = more > 0 ? [`and ${count(more, 'more group')}, which -o json shows\n`] : []
  return [`${head.join('\n')}\n`, ...shown, ...rest].join('\n')
}

function matrixBlock({ group, isolatedBy, from, to }: MatrixRow, groups: readonly GroupedPods[]): readonly string[] {
  const own = groups[group]
  if (own === undefined) return []
  const side = (title: string, direction: Direction, parts: MatrixRow['from']) => [
    `  ${title} (${describeIsolation(isolatedBy[direction])})`,
    ...parts.map((part) => `    ${describeReach(part.reach)}: ${describePeers(part, own, groups)}`),
  ]
  return [namePods(own.pods), ...side('from', 'ingress', from), ...side('to', 'egress', to)]
}

function effectBlock({ group, from, to }: EffectRow, groups: readonly GroupedPods[]): readonly string[] {
  const own = groups[group]
  if (own === undefined) return []
  const side = (title: string, parts: EffectRow['from']) =>
    parts.map(
      (part) =>
        `  ${title} ${describePeers(part, own, groups)}: ${describeReach(part.before)} -> ${describeReach(part.after)}`,
    )
  return [namePods(own.pods), ...side('from', from), ...side('to', to)]
}

function describeIsolation(policies: readonly string[]): string {
  if (policies.length === 0) return 'not isolated'
  return `isolated by ${listed(policies, maxNames)}`
}

function describeReach(reach: readonly Reach[]): string {
  return reach
    .map(({ family, ports }) => (family === undefined ? describePorts(ports) : `${family} ${describePorts(ports)}`))
    .join('; ')
}

function describePorts(ports: PortSet): string {
  if (ports === 'all') return 'everything'
  if (ports === 'none') return 'nothing'
  const texts = ports.map(({ protocol, first, last }) => {
    if (first === 1 && last === 65_535) return `${protocol} all`
    return first === last ? `${protocol} ${first}` : `${protocol} ${first}-${last}`
  })
  return listed(texts, maxPorts)
}

type Peers = Pick<MatrixRow['from'][number], 'groups' | 'addresses'>

/** Pods of the own namespace by name, those of others by name or number, then other addresses. */
function describePeers({ groups: ids, addresses }: Peers, own: GroupedPods, groups: readonly GroupedPods[]): string {
  const peers = ids.flatMap((id) => groups[id] ?? [])
  const byNamespace = Map.groupBy(peers, ({ namespace }) => namespace)
  const near = (byNamespace.get(own.namespace) ?? []).flatMap(({ pods }) => pods)
  const far = [...byNamespace].filter(([namespace]) => namespace !== own.namespace)
  const farTexts = far.map(([namespace, members]) => {
    const pods = members.flatMap((member) => member.pods)
    return pods.length === 1 ? (pods[0] ?? '') : `${pods.length} pods of ${namespace}`
  })
  const texts = [
    ...(near.length > 0 ? [namePods(near)] : []),
    ...(farTexts.length > 0 ? [listed(farTexts, maxNames, 'namespaces')] : []),
    ...(addresses.length > 0 ? [describeAddresses(addresses)] : []),
  ]
  return texts.join(', ')
}

function describeAddresses(spans: readonly AddressSpan[]): string {
  const texts = spans.map(describeSpan)
  return texts.every((text) => text.endsWith('/0'))
    ? `all other addresses`
    : `other addresses in ${listed(texts, maxSpans, 'ranges')}`
}

/** A network where the span is one, else its first and last address. */
function describeSpan({ family, first, last }: AddressSpan): string {
  const [low, high] = [ipToBigInt(first), ipToBigInt(last)]
  const size = high - low + 1n
  const isNetwork = (size & (size - 1n)) === 0n && low % size === 0n
  return isNetwork ? `${first}/${addressBits(family) - (size.toString(2).length - 1)}` : `${first}-${last}`
}

function namePods(pods: readonly string[]): string {
  return listed(pods, maxNames, 'pods')
}

/** `a, b and 3 more pods` */
function listed(texts: readonly string[], limit: number, what = ''): string {
  const more = texts.length - limit
  if (more <= 0) return texts.join(', ')
  return `${texts.slice(0, limit).join(', ')} and ${more} more${what === '' ? '' : ` ${what}`}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
