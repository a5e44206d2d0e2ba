import type { Cidr } from '../model/ip.ts'
import type { BaseChain, FilterHook } from './foreign-path.ts'

/** A program that keeps rules of its own on a node, as its chains and tables show; whether it is installed does not matter. */
export type Neighbour = 'Docker' | 'Podman' | 'libvirt' | 'firewalld' | 'ufw'

interface Marks {
  readonly chain: RegExp
  readonly table: RegExp
  /** In a sentence behind the program's name. */
  readonly does: string
}

/** In the order in which a policy of DROP is put down to them. */
const marksOf: Readonly<Record<Neighbour, Marks>> = {
  firewalld: {
    chain: /^$/,
    table: /^firewalld$/,
    does: 'refuses what its zones do not allow, in a table of its own behind ours: what ours accept is refused there all the same',
  },
  ufw: {
    chain: /^ufw6?-/,
    table: /^$/,
    does: 'sets the policies of INPUT and FORWARD to DROP: pods reach this node itself (DNS, host ports) only where its rules allow it',
  },
  Docker: {
    chain: /^DOCKER(-|$)/,
    table: /^docker-bridges$/,
    does: 'sets the policy of FORWARD to DROP, and accepts the traffic of its own bridges alone',
  },
  Podman: {
    chain: /^(NETAVARK|CNI-(FORWARD|ADMIN)$)/,
    table: /^netavark$/,
    does: 'accepts the traffic of its own networks and refuses nothing of others',
  },
  libvirt: {
    chain: /^LIBVIRT_/,
    table: /^libvirt_network$/,
    does: 'refuses new connections to its virtual machines and accepts those they make; it leaves all other traffic alone',
  },
}

const neighbours = Object.keys(marksOf) as readonly Neighbour[]

/** Names the programs whose rules a base chain holds or leads to. */
export function neighboursIn({ where, rules }: BaseChain): readonly Neighbour[] {
  const table = tableOf(where)
  if (table !== undefined) return neighbours.filter((each) => marksOf[each].table.test(table))
  const targets = rules.map((rule) => / -[jg] (\S+)/.exec(` ${rule}`)?.[1] ?? '')
  return neighbours.filter((each) => targets.some((target) => marksOf[each].chain.test(target)))
}

/** Names the program whose rule or policy decided in `chain` of a base chain. Undefined where nothing shows it. */
export function ownerOf(base: BaseChain, chain: string): Neighbour | undefined {
  const byChain = neighbours.find((each) => marksOf[each].chain.test(chain))
  if (byChain !== undefined) return byChain
  return neighboursIn(base).find((each) => tableOf(base.where) !== undefined || setsPolicy(each, base.hook))
}

export function describeNeighbour(neighbour: Neighbour): string {
  return marksOf[neighbour].does
}

/** Returns the commands that let pods' traffic pass; the source of each is its program's manual. */
export function remedyOf(neighbour: Neighbour, hook: FilterHook, podCidrs: readonly Cidr[]): string {
  const each = (command: (cidr: Cidr) => string): string => podCidrs.map(command).join(' && ')
  switch (neighbour) {
    case 'firewalld':
      return `${each((cidr) => `firewall-cmd --permanent --zone=trusted --add-source=${cidr}`)} && firewall-cmd --reload`
    case 'ufw':
      return hook === 'FORWARD'
        ? each((cidr) => `ufw route allow from ${cidr} && ufw route allow to ${cidr}`)
        : each((cidr) => `ufw allow from ${cidr}`)
    case 'Docker':
      return each((cidr) => {
        const program = cidr.includes(':') ? 'ip6tables' : 'iptables'
        return `${program} -I DOCKER-USER -s ${cidr} -j ACCEPT && ${program} -I DOCKER-USER -d ${cidr} -j ACCEPT`
      })
    case 'libvirt':
      return 'reach the machine at a port that this node forwards, or give its network <forward mode="open"/> (virsh net-edit)'
    case 'Podman':
      return 'podman network reload --all'
  }
}

function setsPolicy(neighbour: Neighbour, hook: FilterHook): boolean {
  return neighbour === 'ufw' || (neighbour === 'Docker' && hook === 'FORWARD')
}

/** The table of a chain that was written with nft. */
function tableOf(where: string): string | undefined {
  return /^table \S+ (\S+),/.exec(where)?.[1]
}
