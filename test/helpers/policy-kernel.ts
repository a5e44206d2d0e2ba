import assert from 'node:assert/strict'
import { cidrContains, cidrRange, type Ip, type IpFamily, ipFamily, ipToBigInt, parseCidr } from '../../src/model/ip.ts'
import type { MemberSet } from '../../src/netfilter/member-sets.ts'
import { policyChains } from '../../src/netfilter/policy/names.ts'
import { renderRule } from '../../src/netfilter/render.ts'
import type { Chain, Match, Rule, Side, TableChange } from '../../src/netfilter/ruleset.ts'
import type { PolicyStep } from '../../src/node/policy/plan.ts'
import type { Flow } from '../../src/node/policy/verdict.ts'

export interface PolicyPacket extends Pick<Flow, 'protocol' | 'port'> {
  readonly source: Ip
  readonly destination: Ip
  readonly icmpv6Type?: number
  readonly mark?: number
}

interface Walk {
  readonly packet: PolicyPacket
  mark: number
  readonly rules: string[]
}

export interface Outcome {
  readonly verdict: 'pass' | 'drop'
  /** The mark with which the packet leaves. */
  readonly mark: number
  /** The rules that matched, in order. */
  readonly rules: readonly string[]
}

interface HeldSet {
  readonly set: MemberSet
  readonly elements: Set<string>
}

/** Holds chains and sets as the kernel would, refuses what the kernel would refuse, and walks packets through them. */
export class PolicyKernel {
  readonly #family: IpFamily
  readonly chains = new Map<string, Chain>()
  readonly sets = new Map<string, HeldSet>()

  constructor(family: IpFamily) {
    this.#family = family
  }

  /** @param between called in each of the states that packets meet while the step is written */
  apply({ table, sets }: PolicyStep, between: () => void = () => {}): void {
    for (const [name, set] of sets.create) {
      assert.ok(!this.sets.has(name), `set ${name} exists`)
      assert.ok(name.length <= 28 && set.family === this.#family, name)
      this.sets.set(name, { set, elements: new Set() })
    }
    for (const [name, elements] of sets.add) for (const element of elements) this.#add(name, element)
    between()
    if (table !== undefined) this.#commit(table)
    between()
    for (const [name, elements] of sets.remove)
      for (const element of elements) assert.ok(this.sets.get(name)?.elements.delete(element), `${name} ${element}`)
    for (const name of sets.destroy) {
      assert.ok(!this.#namedSets().has(name), `set ${name} is in use`)
      assert.ok(this.sets.delete(name), `set ${name} is gone`)
    }
    for (const name of this.#namedSets()) assert.ok(this.sets.has(name), `set ${name} is named and not there`)
  }

  /** Where a packet that this node forwards goes. */
  walk(packet: PolicyPacket, chain: string = policyChains.forward): Outcome {
    const walk: Walk = { packet, mark: packet.mark ?? 0, rules: [] }
    const verdict = this.#walkChain(chain, walk)
    return { verdict: verdict === 'drop' ? 'drop' : 'pass', mark: walk.mark, rules: walk.rules }
  }

  /** All chains, then all sets with their elements, as text in the order of names. */
  describe(): string {
    const chains = [...this.chains]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, rules]) => [`:${name}`, ...rules.map((rule) => renderRule(name, rule, this.#family))])
    const sets = [...this.sets]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, { set, elements }]) => [
        `create ${name} ${JSON.stringify(set)}`,
        ...[...elements].sort().map((element) => `add ${name} ${element}`),
      ])
    return [...chains, ...sets, ''].join('\n')
  }

  #add(name: string, element: string): void {
    const held = this.sets.get(name)
    assert.ok(held !== undefined, `set ${name} is not there`)
    assert.ok(!held.elements.has(element), `${name} has ${element}`)
    assert.ok(!/\/(0|128)$|\..*\/32$/.test(element), `${element} is not canonical`)
    held.elements.add(element)
  }

  #commit({ set, remove }: TableChange): void {
    for (const name of remove) assert.ok(this.chains.delete(name), `chain ${name} is not there`)
    for (const [name, chain] of set) {
      assert.ok(name.length <= 28, name)
      this.chains.set(name, chain)
    }
    for (const [name, chain] of this.chains) for (const rule of chain) this.#checkNames(name, rule)
  }

  #checkNames(name: string, { target, matches }: Rule): void {
    if (target?.kind === 'jump' || target?.kind === 'goto')
      assert.ok(this.chains.has(target.chain), `${name} leads to ${target.chain}, which is not there`)
    for (const match of matches)
      if (match.kind === 'in-set') assert.ok(this.sets.has(match.set), `${name} names ${match.set}`)
  }

  #namedSets(): ReadonlySet<string> {
    const matches = [...this.chains.values()].flat().flatMap((rule) => rule.matches)
    return new Set(matches.flatMap((match) => (match.kind === 'in-set' ? [match.set] : [])))
  }

  #walkChain(name: string, walk: Walk): 'end' | 'drop' {
    for (const rule of this.chains.get(name) ?? []) {
      if (!rule.matches.every((match) => this.#matches(match, walk))) continue
      walk.rules.push(renderRule(name, rule, this.#family))
      const exit = this.#follow(rule, walk)
      if (exit !== 'next') return exit
    }
    return 'end'
  }

  #follow({ target }: Rule, walk: Walk): 'next' | 'end' | 'drop' {
    switch (target?.kind) {
      case 'jump':
        return this.#walkChain(target.chain, walk) === 'drop' ? 'drop' : 'next'
      case 'goto':
        return this.#walkChain(target.chain, walk)
      case 'return':
        return 'end'
      case 'drop':
        return 'drop'
      case 'mark-or':
        walk.mark |= target.mask
        return 'next'
      case 'mark-xor':
        walk.mark ^= target.mask
        return 'next'
      case 'add-to-set':
        return 'next'
      default:
        throw new Error(`the rules of NetworkPolicy have no target ${target?.kind}`)
    }
  }

  #matches(match: Match, { packet, mark }: Walk): boolean {
    const holds = this.#holds(match, packet, mark)
    return 'negated' in match && match.negated === true ? !holds : holds
  }

  #holds(match: Match, packet: PolicyPacket, mark: number): boolean {
    const protocol = packet.protocol.toLowerCase()
    switch (match.kind) {
      case 'in-set':
        return this.#isMember(match.set, match.by, packet)
      case 'mark':
        return (mark & match.mask) === match.value
      case 'protocol':
        return match.protocol === protocol
      case 'destination-port':
        return match.protocol === protocol && match.port <= packet.port && packet.port <= (match.lastPort ?? match.port)
      case 'destination-ports':
        return (
          match.protocol === protocol &&
          match.ports.some(({ first, last }) => first <= packet.port && packet.port <= last)
        )
      case 'icmpv6-type':
        return packet.icmpv6Type === match.type
      case 'address-bit':
        return (
          ((ipToBigInt(match.side === 'source' ? packet.source : packet.destination) >> BigInt(match.bit)) & 1n) === 1n
        )
      case 'source':
        return cidrContains(match.cidr, networkOf(packet.source))
      case 'destination':
        return cidrContains(match.cidr, networkOf(packet.destination))
      case 'in-interface':
        return false
      default:
        throw new Error(`the rules of NetworkPolicy have no match ${match.kind}`)
    }
  }

  #isMember(name: string, by: readonly Side[], { source, destination, protocol, port }: PolicyPacket): boolean {
    const held = this.sets.get(name)
    assert.ok(held !== undefined, `set ${name} is not there`)
    const address = by[0] === 'src' ? source : destination
    if (held.elements.has(address)) return true
    if (by.length === 2) return held.elements.has(`${address},${protocol.toLowerCase()}:${port}`)
    return (
      held.set.type === 'hash:net' &&
      [...held.elements].some((element) => element.includes('/') && isIn(element, address))
    )
  }
}

/** The packet of a flow whose ends both have addresses. */
export function packetOf({ source, destination, protocol, port }: Flow): PolicyPacket {
  assert.ok(source.address !== undefined && destination.address !== undefined)
  return { source: source.address, destination: destination.address, protocol, port }
}

function networkOf(address: Ip) {
  const network = parseCidr(`${address}/${ipFamily(address) === 'IPv4' ? 32 : 128}`)
  assert.ok(network !== undefined)
  return network
}

function isIn(element: string, address: Ip): boolean {
  const network = parseCidr(element)
  assert.ok(network !== undefined, element)
  const { first, last, family } = cidrRange(network)
  const value = ipToBigInt(address)
  return family === ipFamily(address) && first <= value && value <= last
}
